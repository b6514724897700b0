"""Turns of phrase that a reader has to take apart before the sentence makes sense; and what to write in their place."""
import re

NAME_IT = "name the thing that is meant: the job, the slot, the sample"
HABITS = (
    (re.compile(r"^(?:But |And |So )?(?:Those|One|Ones|That) (?:that|who|which|whose)\b"), NAME_IT),
    (re.compile(r"^(?:Those|Ones|That) of\b"), NAME_IT),
    (re.compile(r"^(?:What|Whatever|Who|Whoever)\b.*\.$"), "begin with the subject: " + NAME_IT),
    (re.compile(r", of (?:which|whom)\b"), "make it two sentences"),
    (re.compile(r"\bthe ones? (?:that|which|who|whose|of)\b"), NAME_IT),
    (re.compile(r"\bthose (?:of|that|which|who|whose)\b"), NAME_IT),
    (re.compile(r"\bthat of (?:the|a|an|its|his|their|one)\b"), NAME_IT),
    (re.compile(r"\b(?:as does|so do|nor does|as do) (?:the|a|one|its)\b.*\b(?:does|do)\b"), "make it two sentences"),
)
WORDS_MAX = 50  # of one sentence


def faults_of(page):
    """Sentences, one for each fault of a pages.Page."""
    for line, sentence in page.sentences():
        for pattern, remedy in HABITS:
            if found := pattern.search(sentence):
                yield f'{page.path}:{line}: "{found[0][:20]}" in "{sentence}": {remedy}'
        words = [word for word in sentence.split() if re.search(r"[A-Za-z]{2}", word)]
        if len(words) > WORDS_MAX:
            yield f'{page.path}:{line}: {len(words)} words in "{sentence}": make it two sentences'
