"""A header may use a macro that only its includer sees: what that macro calls is not passed over in silence."""

from __future__ import annotations

import pytest

from reviewbot.rulebook.book import load_rulebook
from reviewbot.rules.inspection import inspect
from tests.expectations import small_tree
from tests.trees import MemoryTree

ODD = "static inline void odd(struct ticket *t)\n{\n\tlater(t);\n}\n"
USER = """#include <linux/kernel.h>
#include <linux/ticket.h>
#include <linux/uaccess.h>
#include <linux/later.h>
#include <linux/odd.h>

int put_odd(struct ticket *t, struct uticket __user *u)
{
	if (!user_write_access_begin(u, sizeof(*u)))
		return -EFAULT;
	odd(t);
	user_write_access_end();
	return 0;
}
"""


@pytest.mark.parametrize(
    ("macro", "gaps"),
    [
        pytest.param("((t)->id)", [], id="one_that_calls_nothing_hides_nothing"),
        pytest.param("ticket_seen(t)", ["include/linux/odd.h:3"], id="one_that_calls_is_a_gap"),
    ],
)
def test_macro_of_the_includer(macro: str, gaps: list[str]) -> None:
    files = {
        **small_tree(),
        "include/linux/later.h": f"#define later(t) {macro}\n",
        "include/linux/odd.h": ODD,
        "kernel/odd_user.c": USER,
    }
    inspection = inspect(MemoryTree(files), ["kernel/odd_user.c"], load_rulebook())
    assert [f"{gap.path}:{gap.line}" for gap in inspection.gaps] == gaps
    assert [seen.rule for seen in inspection.observations] == []
