"""`python -m reviewbot`: the same as the command."""

import sys

from reviewbot.frontends.guard import main

sys.exit(main())
