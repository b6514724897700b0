"""Spectrograms and cepstral coefficients, all the way to a trainer, beside formulas in numpy."""
import struct
import tempfile
import unittest
from pathlib import Path

import numpy as np

import spdld
import spectra_reference as reference
from case import PROGRAM, WAIT_S, RestartedDaemon

RATE, SAMPLES = 16000, 16000
POWER = 1e-5  # the greatest relative error of a power, and so of a level: 10 log10(1 + POWER) decibels. 1e-4 is promised


def sound():
    """A tone, rising ones and noise that is 70 dB below; the last quarter is 60 dB softer."""
    random = np.random.default_rng(3)
    t = np.arange(SAMPLES) / RATE
    tones = 0.8 * np.sin(2 * np.pi * 440 * t) + 0.05 * np.sin(2 * np.pi * (300 + 2000 * t) * t)
    samples = tones + 3e-4 * random.standard_normal(SAMPLES)
    samples[SAMPLES * 3 // 4:] *= 1e-3
    return samples.astype(np.float32)


def wav_of(samples):
    data = samples.astype("<f4").tobytes()
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 3, 1, RATE, 4 * RATE, 4, 32,
                       b"data", len(data))
    return head + data


class Spectra(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="spdld-spectra-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.samples = sound()
        (cls.folder / "one").mkdir()
        (cls.folder / "one" / "a.wav").write_bytes(wav_of(cls.samples))
        cls.daemon = RestartedDaemon(PROGRAM)
        cls.addClassCleanup(cls.daemon.close)

    def outputs(self, operations, ragged=False):
        """What each operation gives, by its number."""
        decode = {"op": "decode-audio", "rate": RATE, **({} if ragged else {"samples": SAMPLES})}
        form = {"ragged": True, "length_max": 1000} if ragged else {}
        outputs = [{"name": f"x{number}", "from": "image", "ops": [decode, operation],
                    **form} for number, operation in enumerate(operations)]
        spec = {"name": "spectra", "source": {"type": "image-folder", "uri": str(self.folder), "extensions": "wav"},
                "output": outputs, "order": {"epochs": 1, "shuffle": False}, "batch": {"size": 1}}
        loader = spdld.attach(spec, socket=self.daemon.socket, timeout=WAIT_S, framework="numpy", group=self.id())
        self.addCleanup(loader.close)
        batch = loader.next()
        return [np.array(batch[f"x{number}"].values if ragged else batch[f"x{number}"][0]) for number in range(len(operations))]

    def check_power(self, given, wanted):
        self.assertEqual(given.shape, wanted.shape)
        self.assertLess(np.max(np.abs(given - wanted) / wanted), POWER)

    def check_levels(self, given, wanted, step):
        """`step`: how much a level changes where its power changes by the factor e."""
        self.assertEqual(given.shape, wanted.shape)
        self.assertLess(np.max(np.abs(given - wanted)), POWER * step)

    def test_spectrograms(self):
        of = {"op": "spectrogram"}
        torchaudio, whisper, librosa, kaldi, narrow, decibels, first = self.outputs([
            {**of, "preset": "torchaudio"}, {**of, "preset": "whisper"}, {**of, "preset": "librosa"}, {**of, "preset": "kaldi"},
            {**of, "preset": "librosa", "window": 800, "values": "power"},
            {**of, "preset": "torchaudio", "values": "db", "top_db": 60},
            {**of, "preset": "torchaudio", "layout": "frames-first"}])
        wanted = reference.power(reference.torchaudio_frames(self.samples))
        self.check_power(torchaudio, wanted.T)
        self.assertEqual(first.tolist(), torchaudio.T.tolist())
        self.check_levels(decibels, reference.decibels(wanted, 60).T, 10 / np.log(10))
        self.check_power(whisper, reference.power(reference.whisper_frames(self.samples)).T)
        self.check_power(librosa ** 2, reference.power(reference.librosa_frames(self.samples)).T)
        self.check_power(narrow, reference.power(reference.librosa_frames(self.samples, 800)).T)
        self.check_levels(kaldi, reference.kaldi_spectrogram(self.samples, RATE), 1)

    def test_complex_values_are_two_planes(self):
        of = {"op": "spectrogram", "values": "complex"}
        librosa, first = self.outputs([{**of, "preset": "librosa"}, {**of, "preset": "librosa", "layout": "frames-first"}])
        wanted = reference.stft(reference.librosa_frames(self.samples)).T
        self.assertEqual(librosa.shape, (2, 1025, wanted.shape[1]))
        self.assertEqual(first.tolist(), librosa.transpose(2, 0, 1).tolist())
        self.assertLess(np.max(np.abs(librosa[0] + 1j * librosa[1] - wanted) / np.abs(wanted)), POWER / 2)

    def test_cepstral_coefficients(self):
        of = {"op": "mfcc"}
        decibel = 10 / np.log(10) * np.sqrt(128)  # of a coefficient, where all of 128 levels change
        librosa, lifted, torchaudio, logarithm, kaldi, energy, bounded = self.outputs([
            {**of, "preset": "librosa"}, {**of, "preset": "librosa", "coefficients": 13, "lifter": 22},
            {**of, "preset": "torchaudio"},
            {**of, "preset": "torchaudio", "values": "log", "coefficients": 20}, {**of, "preset": "kaldi"},
            {**of, "preset": "kaldi", "energy": True, "coefficients": 10, "lifter": 10},
            {**of, "preset": "librosa", "top_db": 40}])
        self.check_levels(librosa, reference.librosa_mfcc(self.samples, RATE).T, decibel)
        self.check_levels(lifted, reference.librosa_mfcc(self.samples, RATE, 13, 22).T, 12 * decibel)
        self.check_levels(bounded, reference.librosa_mfcc(self.samples, RATE, top_db=40).T, decibel)
        self.check_levels(torchaudio, reference.torchaudio_mfcc(self.samples, RATE).T, decibel)
        self.check_levels(logarithm, reference.torchaudio_mfcc(self.samples, RATE, 20, True).T, np.sqrt(128))
        self.check_levels(kaldi, reference.kaldi_mfcc(self.samples, RATE), 12 * np.sqrt(23))
        self.check_levels(energy, reference.kaldi_mfcc(self.samples, RATE, 10, 10, True), 6 * np.sqrt(23))

    def test_sounds_that_differ_in_length_give_frames(self):
        power, parts, kaldi, librosa = self.outputs(
            [{"op": "spectrogram", "preset": "torchaudio"}, {"op": "spectrogram", "preset": "torchaudio", "values": "complex"},
             {"op": "mfcc", "preset": "kaldi"}, {"op": "mfcc", "preset": "librosa"}], ragged=True)
        frames = reference.torchaudio_frames(self.samples)
        self.check_power(power, reference.power(frames))
        self.assertEqual(parts.shape, (len(frames), 2, 201))
        self.check_power(parts[:, 0] ** 2 + parts[:, 1] ** 2, reference.power(frames))
        self.check_levels(kaldi, reference.kaldi_mfcc(self.samples, RATE), 12 * np.sqrt(23))
        self.check_levels(librosa, reference.librosa_mfcc(self.samples, RATE), 10 / np.log(10) * np.sqrt(128))

    def test_what_no_coefficients_can_be_made_of(self):
        for operation, words in (({"op": "mfcc", "preset": "librosa", "coefficients": 129}, "129 `coefficients` of 128 bands"),
                                 ({"op": "mfcc", "preset": "librosa", "energy": True},
                                  "has `energy`, which the preset \"kaldi\" alone"),
                                 ({"op": "mfcc", "preset": "kaldi", "f_max": 9000}, "above half the rate"),
                                 ({"op": "spectrogram", "preset": "librosa", "n_fft": 1001}, "odd `n_fft`")):
            with self.subTest(words=words), self.assertRaisesRegex(spdld.Error, words):
                self.outputs([operation])


if __name__ == "__main__":
    unittest.main()
