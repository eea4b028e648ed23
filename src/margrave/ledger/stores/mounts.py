"""Which file system a path is on, where the system tells."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

_TABLE = "/proc/self/mountinfo"
_MOST_BYTES = 1 << 24
_NAMES = """
    9p afs beegfs ceph cifs coda davfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2 smb2 smb3 smbfs
    fuse.ceph fuse.cephfs fuse.curlftpfs fuse.davfs2 fuse.gcsfuse fuse.glusterfs fuse.rclone fuse.s3fs fuse.sshfs
"""
NETWORK = frozenset(_NAMES.split())


def network_file_system(path: Path) -> str | None:
    """The kind of network file system that a path is on, or None if it is on none or nobody knows."""
    kind = kind_of(Path(os.path.realpath(path)), _mount_table())
    return kind if kind in NETWORK else None


def kind_of(path: Path, table: str) -> str | None:
    """The kind of the file system that holds a path, by a table in the form of Linux's mountinfo."""
    found, longest = None, -1
    for line in table.splitlines():
        left, _, right = line.partition(" - ")
        fields, kinds = left.split(" "), right.split(" ")
        if len(fields) < 5 or not kinds[0]:
            continue
        mount = PurePosixPath(_unescaped(fields[4]))
        if path.is_relative_to(mount) and len(mount.parts) >= longest:
            found, longest = kinds[0], len(mount.parts)
    return found


def _unescaped(text: str) -> str:
    """Spaces and the like are written in octal."""
    for code in (" ", "\t", "\n"):
        text = text.replace(f"\\{ord(code):03o}", code)
    return text.replace("\\134", "\\")


def _mount_table() -> str:
    try:
        handle = os.open(_TABLE, os.O_RDONLY)
    except OSError:
        return ""
    try:
        content = b""
        while len(content) < _MOST_BYTES and (piece := os.read(handle, 1 << 16)):
            content += piece
    except OSError:
        return ""
    finally:
        os.close(handle)
    return content.decode("utf-8", "replace")
