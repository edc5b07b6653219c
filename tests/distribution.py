"""How tests are spread over processes: by group, and to the end when one of the processes dies.

pytest-xdist's own scheduling by group gives the test that killed a process to the next one, and can leave that one
waiting for ever for a second test.
"""

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController


class Distribution(LoadGroupScheduling):  # type: ignore[misc]  # the base class ships no types
    """Scheduling by group in which a dead process costs only the test that it ran."""

    def remove_node(self, node: WorkerController) -> str | None:
        """Give the work of a process that ended to others; return the test that it ran then, if any."""
        groups = self.assigned_work.pop(node)
        crashed = next((test for tests in groups.values() for test, done in tests.items() if not done), None)
        for name, tests in groups.items():
            if crashed in tests:
                tests[crashed] = True
            if not all(tests.values()):
                self.workqueue[name] = tests
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget a group that is complete: what is left to do is counted after each test."""
        test = self.registered_collections[node][item_index]
        groups, name = self.assigned_work[node], self._split_scope(test)
        groups[name][test] = True
        if all(groups[name].values()):
            del groups[name]
        self._reschedule(node)

    def schedule(self) -> None:
        """Give every process work. A new one gets two groups, because a process runs a test once it knows the next."""
        is_new = self.collection is None
        super().schedule()
        if not is_new:
            for node in self.nodes:
                self._reschedule(node)

    def _reschedule(self, node: WorkerController) -> None:
        if node in self.registered_collections:
            super()._reschedule(node)
