import unittest

from stateous_routine.testing import Mock

from routine import draft


class DraftTest(unittest.TestCase):
    def test_a_draft_is_submitted(self):
        mock = Mock({"title": "a pen"})
        self.assertEqual(mock.run(draft).event, "submitted")
        self.assertEqual(mock.token_context["draft"], "Please order: a pen.")
        self.assertEqual(mock.notes, ["draft 1 of a pen"])

    def test_a_second_visit_remembers_the_first(self):
        mock = Mock({"title": "a pen"})
        mock.run(draft)
        mock.run(draft)
        self.assertEqual(mock.memory, {"drafts": 2})

    def test_a_title_that_says_nothing_needs_work(self):
        ended = Mock({"title": "?"}).run(draft)
        self.assertEqual((ended.event, ended.payload), ("needs-work", {"because": "the title is too short"}))


if __name__ == "__main__":
    unittest.main()
