import unittest

from stateous_routine.testing import Mock

from routine import weigh


class WeighTest(unittest.TestCase):
    def test_an_interrupted_weighing_goes_on_from_its_note_with_every_digit(self):
        thing = {"name": "pen", "grams": 10**30, "tags": []}
        mock = Mock({"title": "a pen", "contents": [thing], "journey": []})
        mock.entered_by("labelled", {"serial": 10**40, "says": "hi"})
        self.assertEqual(mock.run(weigh).kind, "failed")
        self.assertEqual(mock.run(weigh).payload["serial"], 10**40 + 1)
        self.assertEqual(mock.token_context["grams"], 10**30)


if __name__ == "__main__":
    unittest.main()
