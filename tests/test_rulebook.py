"""rules/: every shipped file loads and says what the kernel says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import reviewbot
from reviewbot.errors import RulebookError
from reviewbot.rulebook.book import Rulebook, arch_of, load_rulebook
from reviewbot.rulebook.catalogue import COMMON_PLACEHOLDERS, CatalogueEntry, Weight
from reviewbot.rulebook.policy import CalleeForm
from reviewbot.rulebook.primitives import Direction, Effect, Guard, KernelVersion, Result

RULES = load_rulebook().directory
BOOK = load_rulebook(RULES)  # a directory that is named is checked whole
SLUGS = {
    1: ["repeated_pair", "small_copy", "traced_call"],
    2: [
        "mismatched_end",
        "nested_block",
        "redundant_end",
        "sleep_in_block",
        "unchecked_begin",
        "unclosed_block",
        "unsafe_outside_block",
        "wrong_direction",
    ],
}


# --- Primitives


@pytest.mark.parametrize(
    ("name", "arch", "switches"),
    [
        ("get_user", "powerpc", 2),
        ("get_user", "x86", 2),
        ("get_user", "riscv", 2),
        ("get_user", "arm", 2),
        ("get_user", "arm64", 0),
        ("get_user", "s390", 0),
        ("get_user", "mips", 0),
        ("get_user", None, 2),
        ("user_access_begin", "powerpc", 1),
        ("user_access_begin", "arm64", 0),
        ("user_access_begin", "arm", 0),
        ("unsafe_put_user", "powerpc", 0),
        ("unsafe_put_user", "arm", 2),
        ("arch_futex_atomic_op_inuser", "s390", 2),
        ("uaccess_enable_privileged", "arm64", 1),
        ("access_ok", "powerpc", 0),
    ],
)
def test_switches_are_those_the_architecture_really_makes(name: str, arch: str | None, switches: int) -> None:
    primitive = BOOK.primitive(name, arch)
    assert primitive is not None
    assert primitive.switches == switches


@pytest.mark.parametrize(("version", "switches"), [((6, 1), 0), ((6, 15), 0), ((6, 16), 1), ((7, 3), 1)])
def test_riscv_opens_a_block_since_6_16(version: tuple[int, int], switches: int) -> None:
    primitive = BOOK.primitive("user_access_begin", "riscv", KernelVersion(major=version[0], minor=version[1]))
    assert primitive is not None
    assert primitive.switches == switches


def test_without_a_version_the_newest_entry_counts() -> None:
    primitive = BOOK.primitive("user_access_begin", "riscv")
    assert primitive is not None
    assert primitive.since == KernelVersion(major=6, minor=16)


def test_an_unknown_name_is_no_primitive() -> None:
    assert BOOK.primitive("printk", "powerpc") is None
    assert "printk" not in BOOK.primitive_names


def test_low_level_names_belong_to_their_architecture_only() -> None:
    assert BOOK.primitive("stac", "x86") is not None
    assert BOOK.primitive("stac", "powerpc") is None
    assert BOOK.primitive("allow_read_from_user", None) is None


def test_architectures_inherit_the_generic_entries_under_their_own_name() -> None:
    primitive = BOOK.primitive("copy_to_user", "arm64")
    assert primitive is not None
    assert (primitive.arch, primitive.effect, primitive.small_copy) == ("arm64", Effect.ACCESS, True)


@pytest.mark.parametrize(
    ("name", "value", "pointer", "size", "label"),
    [
        ("get_user", 0, 1, None, None),
        ("copy_from_user", 0, 1, 2, None),
        ("copy_to_user", 1, 0, 2, None),
        ("unsafe_put_user", 0, 1, None, 2),
        ("unsafe_copy_to_user", 1, 0, 2, 3),
        ("copy_struct_from_user", 0, 2, 3, None),
        ("clear_user", None, 0, 1, None),
        ("scoped_user_read_access", None, 0, None, 1),
        ("scoped_user_write_access_size", None, 0, 1, 2),
        ("futex_atomic_cmpxchg_inatomic", 0, 1, None, None),
    ],
)
def test_argument_indexes(name: str, value: int | None, pointer: int, size: int | None, label: int | None) -> None:
    primitive = BOOK.primitive(name, None)
    assert primitive is not None
    found = (primitive.value_arg, primitive.pointer_arg, primitive.size_arg, primitive.label_arg)
    assert found == (value, pointer, size, label)


@pytest.mark.parametrize("arch", sorted(BOOK.architectures))
def test_openers_have_closers_and_accesses_that_need_a_block_make_no_block(arch: str) -> None:
    for entries in BOOK.architectures[arch].entries.values():
        for primitive in entries:
            if primitive.effect is Effect.OPEN:
                closer = BOOK.architectures[arch].entries[primitive.closed_by[0]][0]
                assert closer.effect in (Effect.CLOSE, Effect.RESTORE)
                assert closer.direction is primitive.direction
            if primitive.effect is Effect.SAVE:
                assert primitive.result is Result.STATE


def test_only_powerpc_and_generic_code_tell_directions_apart() -> None:
    distinct = {name for name, found in BOOK.architectures.items() if found.architecture.distinct_directions}
    assert distinct == {"generic", "powerpc"}
    assert BOOK.architecture("arm64").guards is Guard.NONE
    assert BOOK.architecture("sparc").name == "unguarded"
    assert BOOK.architecture("no_such_arch").name == "generic"


def test_direction_words_of_powerpc() -> None:
    assert BOOK.direction_of("KUAP_READ", "powerpc") is Direction.READ
    assert BOOK.direction_of("KUAP_READ", "x86") is None


# --- Policies and words


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("arch/powerpc/kernel/signal_64.c", ["powerpc"]),
        ("arch/x86/kernel/signal.c", ["x86"]),
        ("arch/arm64/kernel/signal.c", ["default"]),
        ("fs/readdir.c", ["powerpc", "x86"]),
        ("include/linux/uaccess.h", ["powerpc", "x86"]),
        ("tools/arch/x86/lib/x.c", ["powerpc", "x86"]),
        ("arch/Kconfig", ["powerpc", "x86"]),
    ],
)
def test_policies_by_path(path: str, names: list[str]) -> None:
    assert [policy.name for policy in BOOK.policies_for(path)] == names


def test_notrace_is_enough_on_powerpc_and_not_on_x86() -> None:
    (powerpc,) = BOOK.policies_for("arch/powerpc/a.c")
    (x86,) = BOOK.policies_for("arch/x86/a.c")
    assert {CalleeForm.NOTRACE, CalleeForm.ASM, CalleeForm.UNTRACED_OBJECT} <= powerpc.safe_forms
    assert x86.safe_forms == {CalleeForm.ALWAYS_INLINE, CalleeForm.INLINE, CalleeForm.BUILTIN}
    assert "csum_partial_copy_generic" in x86.safe_names
    never = {CalleeForm.STATIC, CalleeForm.EXTERN, CalleeForm.INDIRECT, CalleeForm.TRACEPOINT, CalleeForm.STATIC_CALL}
    assert not any(policy.safe_forms & never for policy in BOOK.policies)


def test_memset_on_x86_is_safe_for_constant_sizes_only() -> None:
    (x86,) = BOOK.policies_for("arch/x86/a.c")
    assert {item.name: item.constant_size_arg for item in x86.safe}["memset"] == 2


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("annotations", "__user"),
        ("notrace", "notrace"),
        ("noinstr", "noinstr"),
        ("inline", "nokprobe_inline"),
        ("always_inline", "__always_inline"),
        ("attributes_with_arguments", "__printf"),
        ("sleeping", "mutex_lock"),
        ("sleeping", "might_fault"),
        ("safe_macros", "WARN_ON_ONCE"),
        ("unevaluated", "BUILD_BUG_ON"),
        ("condition_wrappers", "unlikely"),
        ("assembler_definers", "_GLOBAL"),
        ("noreturn", "panic"),
    ],
)
def test_words(kind: str, word: str) -> None:
    assert word in getattr(BOOK.words, kind)


def test_no_word_is_both_safe_and_sleeping() -> None:
    words = BOOK.words
    assert not words.sleeping & (words.safe_macros | words.builtins | words.unevaluated)
    assert not words.sleeping & {name for policy in BOOK.policies for name in policy.safe_names}
    assert not words.unevaluated & words.safe_macros


@pytest.mark.parametrize(
    ("name", "is_loop"),
    [
        ("for_each_possible_cpu", True),
        ("list_for_each_entry_safe", True),
        ("hlist_for_each_entry_rcu", True),
        ("scoped_guard", True),
        ("copy_from_user", False),
        ("before_each", False),
    ],
)
def test_loop_patterns(name: str, is_loop: bool) -> None:
    assert any(re.fullmatch(pattern, name) for pattern in BOOK.words.loop_patterns) is is_loop


def test_definers_have_one_argument_before_the_pairs() -> None:
    definers = dict(BOOK.words.definers)
    assert definers["SYSCALL_DEFINE3"] == definers["COMPAT_SYSCALL_DEFINE6"] == definers["BPF_CALL_5"] == 1


# --- Catalogue


def test_the_catalogue_has_the_eleven_rules_in_order() -> None:
    assert [(entry.level, slug) for slug, entry in BOOK.catalogue.items()] == [
        (level, slug) for level in (1, 2) for slug in SLUGS[level]
    ]


@pytest.mark.parametrize("entry", BOOK.catalogue.values(), ids=lambda entry: entry.slug)
def test_every_variant_fills_from_the_declared_facts(entry: CatalogueEntry) -> None:
    values = {name: f"<{name}>" for name in (*COMMON_PLACEHOLDERS, *entry.facts)}
    for variant in entry.variants.values():
        message, suggestion = variant.fill(values)
        assert "{" not in message + suggestion
        assert message.endswith(".")
        assert suggestion.endswith(".")


@pytest.mark.parametrize("entry", BOOK.catalogue.values(), ids=lambda entry: entry.slug)
def test_messages_speak_of_the_code_and_never_of_the_person(entry: CatalogueEntry) -> None:
    said = " ".join(f"{variant.message} {variant.suggestion}" for variant in entry.variants.values())
    assert not re.search(r"\b(you|your|forgot|wrongly|obviously|must not|illegal)\b", said, re.IGNORECASE)


@pytest.mark.parametrize("entry", BOOK.catalogue.values(), ids=lambda entry: entry.slug)
def test_severities_name_policies_or_architectures(entry: CatalogueEntry) -> None:
    known = {policy.name for policy in BOOK.policies} | set(BOOK.architectures)
    for variant in entry.variants.values():
        assert set(variant.severities) <= known


@pytest.mark.parametrize("entry", BOOK.catalogue.values(), ids=lambda entry: entry.slug)
def test_short_description_is_one_sentence(entry: CatalogueEntry) -> None:
    assert entry.short.count(".") == 1 + entry.short.count("().")
    assert len(entry.short) <= 120
    assert entry.bad != entry.good


def test_severity_is_the_highest_of_the_policies_that_are_broken() -> None:
    static = BOOK.catalogue["traced_call"].variant("static")
    assert static.severity_for(["powerpc"]) is Weight.WARNING
    assert static.severity_for(["powerpc", "x86"]) is Weight.ERROR
    assert static.severity_for([]) is Weight.WARNING


def test_a_missing_fact_is_said() -> None:
    with pytest.raises(RulebookError, match="'callee'"):
        BOOK.catalogue["unchecked_begin"].variant("ignored").fill({})


@pytest.mark.parametrize("slug", sorted(BOOK.catalogue))
def test_the_catalogue_knows_every_variant_that_a_rule_names(slug: str) -> None:
    source = Path(reviewbot.__file__).parent / "rules" / f"{slug}.py"
    if not source.exists():
        pytest.skip("the rule is not written yet")
    named = set(re.findall(r'variant="(\w+)"', source.read_text(encoding="utf-8")))
    assert named <= set(BOOK.catalogue[slug].variants)


def test_every_form_that_some_policy_refuses_has_words() -> None:
    refused = {form.value for policy in BOOK.policies for form in set(CalleeForm) - policy.safe_forms}
    assert refused <= set(BOOK.catalogue["traced_call"].variants)


def test_an_unknown_variant_is_said() -> None:
    with pytest.raises(RulebookError, match=r"catalogue/small_copy\.toml"):
        BOOK.catalogue["small_copy"].variant("nonsense")


def test_thresholds_by_variant_and_architecture() -> None:
    entry = BOOK.catalogue["repeated_pair"]
    assert entry.threshold("loop", "powerpc") == 0
    assert entry.threshold("straight_line", "powerpc") == entry.minimum_cycles
    assert entry.threshold("straight_line", "x86") < entry.minimum_cycles


@pytest.mark.parametrize(
    ("path", "arch"),
    [("arch/powerpc/kernel/a.c", "powerpc"), ("fs/a.c", None), ("arch/Kconfig", None), ("tools/arch/x86/a.c", None)],
)
def test_arch_of(path: str, arch: str | None) -> None:
    assert arch_of(path) == arch


# --- Against a real tree


@pytest.fixture(scope="module")
def kernel_tree() -> Path:
    tree = os.environ.get("REVIEWBOT_KERNEL_TREE")
    if not tree:
        pytest.skip("REVIEWBOT_KERNEL_TREE is not set")
    return Path(tree)


@pytest.mark.kernel
def test_the_x86_list_holds_all_of_objtools(kernel_tree: Path) -> None:
    source = (kernel_tree / "tools/objtool/check.c").read_text(encoding="utf-8")
    listed = source.split("uaccess_safe_builtin[] = {", 1)[1].split("};", 1)[0]
    (x86,) = BOOK.policies_for("arch/x86/a.c")
    assert set(re.findall(r'"(\w+)"', listed)) <= x86.safe_names


@pytest.mark.kernel
@pytest.mark.parametrize("arch", ["powerpc", "x86", "arm64", "riscv", "arm", "s390"])
def test_names_of_this_version_stand_in_the_headers(kernel_tree: Path, arch: str) -> None:
    folders = [kernel_tree / "include", kernel_tree / f"arch/{arch}/include", kernel_tree / f"arch/{arch}/lib"]
    text = "".join(
        file.read_text(encoding="utf-8", errors="replace")
        for folder in folders
        for file in folder.rglob("*.[chS]")
        if "user" in file.read_text(encoding="utf-8", errors="replace")
    )
    words = set(re.findall(r"\w+", text))
    wanted = {"get_user", "put_user", "copy_from_user", "copy_to_user", "user_access_begin", "clear_user"}
    own = _names_of(BOOK, arch) - {"raw_copy_from_user_allowed", "raw_copy_to_user_allowed", "__put_user_goto"}
    assert wanted | own <= words


def _names_of(book: Rulebook, arch: str) -> set[str]:
    """The names that only this architecture has and that v6.1 knows."""
    version = KernelVersion(major=6, minor=1)
    generic = book.architectures["generic"].entries
    return {
        name
        for name, entries in book.architectures[arch].entries.items()
        if name not in generic and any(entry.is_in(version) for entry in entries)
    }
