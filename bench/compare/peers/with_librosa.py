"""librosa in threads: libsndfile decodes, soxr resamples."""
import itertools
import random
from concurrent.futures import ThreadPoolExecutor

import clips
import librosa
import numpy

EPOCHS_UNCOUNTED = 1  # its parts are loaded when they are first used
BASIS = librosa.filters.mel(sr=clips.RATE, n_fft=clips.WINDOW, n_mels=clips.MELS)


def log_mel(path):
    samples, _ = librosa.load(path, sr=clips.RATE, mono=True)
    samples = librosa.util.fix_length(samples, size=clips.RATE * clips.SECONDS)
    spectrum = librosa.stft(samples, n_fft=clips.WINDOW, hop_length=clips.HOP)
    return numpy.log10(numpy.maximum(BASIS @ librosa.util.abs2(spectrum), numpy.float32(1e-10)))


def batches(job):
    paths = [path for _ in range(EPOCHS_UNCOUNTED + job.epochs) for path in random.sample(job.paths, len(job.paths))]
    with ThreadPoolExecutor(job.threads) as pool:
        sounds = pool.map(log_mel, paths)
        while batch := list(itertools.islice(sounds, job.batch)):
            yield numpy.stack(batch), len(batch)
