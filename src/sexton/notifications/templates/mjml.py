"""Converts MJML, a markup for e-mail, to HTML. Needs the extra `pip install 'sexton[mail]'`.

It is converted once, when a version is written. Variables stay, and are filled in later.
"""

from __future__ import annotations

from sexton.errors import InvalidField

FIELD = "email.mjml"


def to_html(source: str) -> str:
    try:
        from mjml import mjml2html
    except ImportError:
        raise InvalidField(
            "no_mjml",
            "this Sexton cannot read MJML",
            field=FIELD,
            hint="install it with: pip install 'sexton[mail]'; or write html",
        ) from None
    try:
        return str(mjml2html(source))
    except (ValueError, RuntimeError) as error:
        raise InvalidField("bad_mjml", str(error), field=FIELD, hint="see the MJML documentation") from None
