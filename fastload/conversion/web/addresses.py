"""Which addresses may be connected to: a table of URLs from a stranger must not reach what only
this machine, or its network, can see.
"""

import ipaddress
import socket
from typing import Any

# RFC 6052: an IPv4 address in the last 32 bits, for networks that translate
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class PrivateAddressError(OSError):
    """A host is no public one."""


def is_public(address: str) -> bool:
    """Whether anybody on the internet could ask this address the same."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo or (None, None))[1]
        if parsed in TRANSLATED:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return parsed.is_global and not parsed.is_multicast


def public_socket(info: tuple[Any, ...]) -> socket.socket:
    """A socket for one result of getaddrinfo, made right before it connects: so names that
    change their addresses, numbers in URLs and redirects are all seen here.

    Raises PrivateAddressError.
    """
    family, kind, protocol, _, address = info
    if not is_public(str(address[0])):
        raise PrivateAddressError("not a public address")
    return socket.socket(family, kind, protocol)
