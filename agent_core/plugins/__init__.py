"""Plugins: what adds commands and guidance to agents, and looks at their work, without being handed the host."""

from agent_core.plugins.plugin import Plugin, PluginTools, RunOnce

__all__ = ["Plugin", "PluginTools", "RunOnce"]
