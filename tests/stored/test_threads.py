"""One stored monitor, many threads."""

import threading

import pytest
from stored_world import SERIES, check_store, scratch, stored

from streamauc import keeping
from streamauc.store import Store

N_THREADS, N_ROUNDS = 8, 400


@pytest.mark.parametrize("flush_seconds", [0.005, 10_000.0])
def test_many_threads_write_poll_and_flush(flush_seconds):
    """Totals are exact in the end, and each poll holds what its own thread counted before."""
    with scratch() as path:
        monitor = stored(path, flush_seconds=flush_seconds, tiers=((1, 60), (60, 86_400)))
        faults = []

        def work(number):
            try:
                for k in range(N_ROUNDS):
                    one_round(monitor, number, k)
            except BaseException as error:  # noqa: BLE001 - told to the main thread
                faults.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(N_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults
        stats = monitor.stats
        n_all = N_THREADS * N_ROUNDS
        assert stats.n_accepted == n_all * 4
        assert (stats.n_predicted, stats.n_labelled, stats.n_open) == (n_all, n_all, 0)
        window = monitor.window(0, 86_400)
        assert (window.n_samples, window.coverage, window.caveats) == (n_all * 4, 1.0, ())
        monitor.close()
        with Store(path) as store:
            assert store.series(SERIES).tallies()["accepted"] == n_all * 4
        check_store(path)


def one_round(monitor, number, k):
    moment = float(k)
    monitor.update(k % 2, number / 8, moment)
    monitor.update_many([0, 1], [0.25, 0.5], [moment, moment])
    other = (number + 1) % N_THREADS
    monitor.predict((number * N_ROUNDS) + k, number / 8, moment)
    monitor.resolve((other * N_ROUNDS) + k, 1)
    if k % 50 == number:
        n_mine = 3 * (k + 1)
        assert monitor.window(0, 86_400).n_samples >= n_mine
        stats = monitor.stats
        assert stats.n_accepted >= n_mine
        assert stats.n_predicted == stats.n_labelled + stats.n_open + stats.n_abandoned
    if k % 70 == number:
        monitor.flush()


def test_a_flush_that_nobody_waits_for_does_not_wait_for_ever(tmp_path, monkeypatch, caplog):
    """At the end of a process somebody else's flush may never end; then it says so and goes on."""
    monkeypatch.setattr(keeping, "_PATIENCE_SECONDS", 0.05)
    monitor = stored(tmp_path / "metrics.db")
    monitor.update(1, 0.5, 0.0)
    with monitor._flush_lock:
        monitor._flusher._turn()
    assert "another flush has taken more than 0.05 s" in caplog.text
    monitor._flusher._turn()
    assert monitor.stats.n_accepted == 1
    monitor.close()
