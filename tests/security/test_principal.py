"""Who calls, what they may do where, and which namespace a call is for."""

from __future__ import annotations

import pytest

from sexton.errors import InvalidField, NotFound, SextonError
from sexton.security.principal import Principal, owner
from sexton.security.role import Role

BILLING = Principal("key:billing", {"billing": Role.EDITOR})
BOTH = Principal("jo", {"billing": Role.VIEWER, "mail": Role.ADMIN})


def test_a_credential_of_one_namespace_needs_no_choice() -> None:
    assert BILLING.choose(None) == "billing"
    assert BILLING.choose("billing") == "billing"


def test_the_owner_uses_the_default_namespace_unless_another_is_asked_for() -> None:
    assert owner("root", "user:0").choose(None) == "default"
    assert owner("root", "user:0").choose("billing") == "billing"


def test_a_namespace_of_others_is_not_there() -> None:
    with pytest.raises(NotFound) as refused:
        BILLING.choose("mail")
    assert refused.value.code == "namespace_not_found"


def test_with_several_namespaces_one_must_be_named() -> None:
    with pytest.raises(InvalidField, match="several namespaces"):
        BOTH.choose(None)
    assert BOTH.choose("mail") == "mail"


def test_a_role_counts_in_its_namespace() -> None:
    BOTH.require(Role.ADMIN, "mail")
    with pytest.raises(SextonError) as refused:
        BOTH.require(Role.EDITOR, "billing")
    assert refused.value.code == "forbidden"
    assert "the role editor" in refused.value.message
    assert "sexton keys create --name NAME --role editor --namespace billing" in str(refused.value.hint)


def test_the_cluster_is_more_than_its_namespaces() -> None:
    with pytest.raises(SextonError, match="in all namespaces") as refused:
        BOTH.require(Role.VIEWER, "mail", cluster=True)
    assert "sexton keys create --name NAME --role viewer --namespace '*'" in str(refused.value.hint)
    owner("root", "user:0").require(Role.ADMIN, "mail", cluster=True)


def test_the_greater_of_two_roles_counts() -> None:
    both = Principal("jo", {"*": Role.VIEWER, "mail": Role.ADMIN})
    assert (both.role_in("mail"), both.role_in("billing")) == (Role.ADMIN, Role.VIEWER)
    assert Principal("jo", {"*": Role.ADMIN, "mail": Role.VIEWER}).role_in("mail") is Role.ADMIN
