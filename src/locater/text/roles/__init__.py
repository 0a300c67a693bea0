"""Semantic roles of sentences: who does what to whom, where and when."""

from locater.text.roles.opening import open_labeler
from locater.text.roles.records import Role, RoleLabeler, RolePhrase, SentenceRoles

__all__ = ["Role", "RoleLabeler", "RolePhrase", "SentenceRoles", "open_labeler"]
