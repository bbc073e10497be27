"""Is this a patch for the kernel? Kernel lists also carry patches for tools that live elsewhere."""

from __future__ import annotations

import re

from reviewbot.patterns import regex
from reviewbot.series.patch import Patch, Series
from reviewbot.series.subject import parse_subject


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The top of the kernel tree, v2.6 to today: folders, and files that patches touch.
_TOP_FOLDERS = _words(
    "arch block certs crypto Documentation drivers firmware fs include init io_uring ipc kernel lib "
    "LICENSES mm net rust samples scripts security sound tools usr virt"
)
_TOP_FILES = _words(
    ".clang-format .cocciconfig .editorconfig .get_maintainer.ignore .gitattributes .gitignore .mailmap "
    ".pylintrc .rustfmt.toml COPYING CREDITS Kbuild Kconfig MAINTAINERS Makefile README REPORTING-BUGS"
)
# Other projects that use kernel lists: as a prefix of the subject, `[PATCH xfstests]` or `btrfs-progs: …`.
_OTHER_PROJECTS = _words(
    "xfstests fstests xfsprogs xfsdump e2fsprogs btrfs-progs f2fs-tools erofs-utils blktests iproute "
    "iproute2 iproute2-next kvm-unit-tests qemu ltp ndctl daxctl mdadm nfs-utils util-linux man-pages "
    "pahole dwarves trace-cmd libtracefs libtraceevent crash crash-utility kexec-tools makedumpfile "
    "u-boot opensbi skiboot buildroot dtc sparse smatch b4 glibc gcc binutils bluez ethtool iw "
    "wireless-regdb nvme-cli libnvme liburing fio rdma-core kmod alsa-lib alsa-utils v4l-utils i2c-tools bpfilter "
    "linux-firmware rteval rt-tests stress-ng valgrind petitboot"
)
# Names that no part of the kernel has: only these count in front of a title (`crash:`, `ethtool:`, `kmod:` are kernel
# prefixes).
_OTHER_TITLES = _words(
    "xfstests fstests xfsprogs xfsdump e2fsprogs btrfs-progs f2fs-tools erofs-utils blktests iproute2 "
    "kvm-unit-tests ndctl nfs-utils util-linux man-pages trace-cmd libtracefs libtraceevent crash-utility "
    "kexec-tools u-boot rdma-core"
)
_FSTESTS_TITLE = regex(r"(?:generic|xfs|ext4|btrfs|overlay|f2fs|ceph|nfs|shared)/\d{3,4}\b", re.IGNORECASE)


def why_not_kernel(change: Patch | Series) -> str | None:
    """One clause that says why `change` is not for the kernel ("belongs to btrfs-progs"), or None where it may well
    be.

    By the subject, or because no path of it lies in a kernel tree. A patch without any path gets None: then nothing is
    known.
    """
    patches = change.patches if isinstance(change, Series) else (change,)
    named = next((project for text in _subjects(change) if (project := _named_project(text))), None)
    if named:
        return f"belongs to {named}, not to the kernel"
    paths = [path for patch in patches for file in patch.files for path in (file.old_path, file.new_path) if path]
    if not paths or any(_is_kernel_path(path) for path in paths):
        return None
    return f"touches no path of a kernel tree (but {paths[0]})"


def _subjects(change: Patch | Series) -> list[str]:
    patches = change.patches if isinstance(change, Series) else (change,)
    cover = change.cover if isinstance(change, Series) else None
    mails = [cover, *(patch.message for patch in patches)]
    return [mail.subject for mail in mails if mail is not None] or [patch.subject for patch in patches]


def _named_project(text: str) -> str | None:
    subject = parse_subject(text)
    for word in subject.prefixes:
        if word.lower().rstrip(":") in _OTHER_PROJECTS:
            return word
    first = subject.title.partition(":")[0].strip()
    if ":" in subject.title and first.lower() in _OTHER_TITLES:
        return first
    return "xfstests" if _FSTESTS_TITLE.match(subject.title) else None


def _is_kernel_path(path: str) -> bool:
    top, slash, _ = path.partition("/")
    return top in (_TOP_FOLDERS if slash else _TOP_FILES)
