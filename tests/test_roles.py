"""What a fingerprint says of an expression: the same whatever the locals are called, another for another thing."""

from __future__ import annotations

import pytest

from reviewbot.csyntax.function_scope import scope_of
from reviewbot.csyntax.roles import role_of

FUNCTION = b"""\
static int f(struct args __user *uargs, const void *from, u8 key[16])
{
	u32 size, *sizes;
	struct args args = {};

	{
		u64 size = 1;
		g(size);
	}
	return 0;
}
"""
BEHIND = FUNCTION.index(b"return")
INSIDE = FUNCTION.index(b"g(size)")


@pytest.mark.parametrize(
    ("expression", "role"),
    [
        pytest.param("&size", "&<u32>", id="a-local"),
        pytest.param("uargs", "<struct args *>", id="a-parameter"),
        pytest.param("& args . size /* the size */", "&<struct args>.size", id="members-keep-their-names"),
        pytest.param("&uargs->args", "&<struct args *>->args", id="a-member-called-as-a-local"),
        pytest.param("sizeof(struct args)", "sizeof(struct args)", id="a-tag-called-as-a-local"),
        pytest.param("sizeof(size)", "sizeof(<u32>)", id="an-operand-of-sizeof"),
        pytest.param("sizes[size]", "<u32 *>[<u32>]", id="two-of-them"),
        pytest.param("&global_size", "&global_size", id="a-global"),
        pytest.param("(const  unsigned   char *)key", "(const unsigned char*)<u8 *>", id="words-stay-apart"),
        pytest.param("&", "&", id="no-expression"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_names_of_locals_give_way_to_their_types(expression: str, role: str) -> None:
    assert role_of(expression, BEHIND, scope_of(FUNCTION)) == role


def test_the_innermost_declaration_counts() -> None:
    assert role_of("&size", INSIDE, scope_of(FUNCTION)) == "&<u64>"
