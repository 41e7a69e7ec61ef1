"""The encryption of Web Push: content for one browser (RFC 8291, aes128gcm of RFC 8188), and our identity for
its push service (RFC 8292, VAPID)."""

from __future__ import annotations

import base64
import binascii
import os
import struct

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

CURVE = ec.SECP256R1()
RECORD = 4096
#: The content that fits into one record with its header of 86 bytes: push services accept 4096 bytes.
LARGEST_CONTENT = RECORD - 86 - 16 - 1
SALT, AUTH, POINT = 16, 16, 65


def unpadded(text: str) -> bytes:
    """Decode base64url, with or without padding. Raises `ValueError`."""
    try:
        return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError("it is not base64") from None


def padless(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def read_private_key(text: str) -> ec.EllipticCurvePrivateKey:
    """Read a key on P-256: PEM, or its 32 bytes in base64, as the tools of Web Push print it."""
    try:
        if text.lstrip().startswith("-----BEGIN"):
            key = serialization.load_pem_private_key(text.encode(), None)
            if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != CURVE.name:
                raise ValueError("it is not a key on P-256")
            return key
        return ec.derive_private_key(int.from_bytes(unpadded(text.strip()), "big"), CURVE)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(f"the private key cannot be read: {error}") from None


def public_point(key: ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey) -> bytes:
    public = key.public_key() if isinstance(key, ec.EllipticCurvePrivateKey) else key
    return public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def encrypt(content: bytes, p256dh: str, auth: str) -> bytes:
    """Encrypt the content for the browser with these keys. Raises `ValueError` for invalid keys."""
    theirs, secret = unpadded(p256dh), unpadded(auth)
    if len(theirs) != POINT or len(secret) != AUTH:
        raise ValueError("the keys of the subscription do not have the right length")
    if len(content) > LARGEST_CONTENT:
        raise ValueError(f"the message has {len(content):,} bytes, a push service takes {LARGEST_CONTENT:,}")
    peer = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, theirs)
    own = ec.generate_private_key(CURVE)
    point, salt = public_point(own), os.urandom(SALT)
    shared = own.exchange(ec.ECDH(), peer)
    material = _derive(secret, shared, b"WebPush: info\0" + theirs + point, 32)
    key = _derive(salt, material, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(salt, material, b"Content-Encoding: nonce\0", 12)
    header = salt + struct.pack("!IB", RECORD, len(point)) + point
    # The last record ends with 2.
    return header + AESGCM(key).encrypt(nonce, content + b"\x02", None)


def _derive(salt: bytes, material: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(material)
