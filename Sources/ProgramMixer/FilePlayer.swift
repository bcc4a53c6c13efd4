import Dispatch
import EncodedMedia
import Foundation
import MixModel
import Synchronization

/// Plays a program's idle media into its mix, on its own thread.
///
/// Safe to use from any thread. Reads untrusted files, in a contained process.
final class FilePlayer: Sendable {
    private struct Orders {
        var playlist: MixerPlaylist?
        /// Number of the current order.
        var number = 0
        var isRunning = false
        var isStopped = false
    }

    private let shared: MixShared
    private let setup: MixerSetup
    private let place: MediaPlace
    private let report: @Sendable (MixerReport) -> Void
    private let orders = Mutex(Orders())
    private let bell = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    init(shared: MixShared, setup: MixerSetup, place: MediaPlace, report: @escaping @Sendable (MixerReport) -> Void) {
        self.shared = shared
        self.setup = setup
        self.place = place
        self.report = report
    }

    /// Plays this list from now on; `nil` stops playback.
    func play(_ playlist: MixerPlaylist?) {
        let begins = orders.withLock { orders in
            orders.playlist = playlist
            orders.number += 1
            defer { orders.isRunning = orders.isRunning || playlist != nil }
            return !orders.isRunning && !orders.isStopped && playlist != nil
        }
        if begins { begin() }
        bell.signal()
    }

    /// Ends the thread and waits for it.
    func stop() {
        let isRunning = orders.withLock { orders in
            orders.isStopped = true
            return orders.isRunning
        }
        bell.signal()
        if isRunning { ended.wait() }
    }

    private func begin() {
        // Weak, because a thread releases its block only some time after `stop()` has returned.
        let thread = Thread { [weak self, ended] in
            self?.work()
            ended.signal()
        }
        thread.name = "mixer-player"
        thread.start()
    }

    private func work() {
        var run: PlaylistRun?
        var number = 0
        while true {
            let orders = orders.withLock { ($0.playlist, $0.number, $0.isStopped) }
            if orders.2 { break }
            if orders.1 != number {
                number = orders.1
                run?.tearDown()
                run = orders.0.map {
                    PlaylistRun(
                        $0, shared: shared, setup: setup, place: place, report: report,
                        news: { [bell] in bell.signal() })
                }
            }
            guard let wake = run?.step() else {
                bell.wait()
                continue
            }
            let remaining = max(0, (wake - shared.now).nanoseconds)
            if remaining > 0 { _ = bell.wait(timeout: .now() + .nanoseconds(Int(remaining))) }
        }
        run?.tearDown()
    }
}
