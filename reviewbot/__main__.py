"""`python -m reviewbot`: the same as the command."""

from reviewbot.frontends.guard import program

program()
