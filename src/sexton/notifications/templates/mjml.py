"""Converts MJML, a markup for e-mail, to HTML. Needs the extra `pip install 'sexton[mail]'`.

It is converted once, when a version is written. Variables stay, and are filled in later.

The converter calls itself for each element inside another one, and a full stack ends the whole process. So
the number of elements is bounded: the stack of `aside` holds as many, one inside the other.
"""

from __future__ import annotations

import re

from sexton.errors import InvalidField

FIELD = "email.mjml"
# Elements of MJML, which take more of the stack, and all elements.
MOST_BLOCKS, MOST_ELEMENTS = 3000, 15_000


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
    for opening, most in ((r"<mj", MOST_BLOCKS), (r"<[^/]", MOST_ELEMENTS)):
        if (found := len(re.findall(opening, source, re.IGNORECASE))) > most:
            raise InvalidField(
                "too_many", f"the MJML has {found:,} elements", field=FIELD, hint=f"at most {most:,}"
            )
    try:
        return str(mjml2html(source))
    except (ValueError, RuntimeError) as error:
        raise InvalidField("bad_mjml", str(error), field=FIELD, hint="see the MJML documentation") from None
