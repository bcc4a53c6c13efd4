import EncodedMedia
import Foundation
import LayoutEngine
import MixModel

/// Plays one playlist into a mix. Used by the player's thread only.
///
/// The next file is opened as soon as the previous one is decoded, a second before its end, so that they follow each
/// other without a gap.
final class PlaylistRun {
    private struct Opened {
        var file: MediaFile
        var item: Int
        var since: MediaTime
    }

    /// Time by which media is delivered ahead of its own time.
    static let lead = MediaTime.milliseconds(250)
    /// Time without media after which a file counts as broken.
    static let patience = MediaTime.seconds(5)
    /// Longest sleep.
    static let longestSleep = MediaTime.milliseconds(50)

    private let playlist: MixerPlaylist
    private let shared: MixShared
    private let setup: MixerSetup
    private let place: MediaPlace
    private let report: @Sendable (MixerReport) -> Void
    private let news: @Sendable () -> Void
    private var order: PlaylistOrder
    private var current: Opened?
    private var upcoming: Opened?
    /// Program time at which the current file begins, or the earliest time for the next one.
    private var base: MediaTime
    /// Time at which the current file last delivered media.
    private var lastTaken = MediaTime.zero
    private var pausedUntil: MediaTime?
    private var isOver = false
    private var lastError: String?
    private var reported: Set<String> = []

    init(
        _ playlist: MixerPlaylist, shared: MixShared, setup: MixerSetup, place: MediaPlace,
        report: @escaping @Sendable (MixerReport) -> Void, news: @escaping @Sendable () -> Void
    ) {
        self.playlist = playlist
        self.shared = shared
        self.setup = setup
        self.place = place
        self.report = report
        self.news = news
        order = PlaylistOrder(playlist)
        base = shared.now
        shared.change { [base] in $0.beginIdle(at: base) }
    }

    func tearDown() {
        for opened in [current, upcoming] { opened?.file.tearDown(waits: true) }
        (current, upcoming) = (nil, nil)
        shared.change { $0.end(.idle) }
    }

    /// Performs the due steps.
    ///
    /// - Returns: The time of the next call if no news arrives; `nil` means never.
    func step() -> MediaTime? {
        guard !isOver else { return nil }
        let now = shared.now
        var wake = now + Self.longestSleep
        if let opened = current, let next = play(opened, now: now) { wake = min(wake, next) }
        if upcoming == nil, current?.file.isDecoded ?? true, let pause = openNext(now: now) { wake = pause }
        if current == nil, let opened = upcoming, begin(opened, now: now) { wake = now }
        return isOver ? nil : wake
    }

    /// Delivers the due media of the file on air.
    ///
    /// - Returns: The time of the next media.
    private func play(_ opened: Opened, now: MediaTime) -> MediaTime? {
        let file = opened.file
        // Read first: media that is decoded later follows with the next step.
        let length = file.length
        let due = now + Self.lead - base
        let taken = file.take(until: min(due, length ?? due))
        if !taken.pictures.isEmpty || !taken.sound.isEmpty {
            lastTaken = now
            shared.change { [base] state in
                for (time, picture) in taken.pictures { state.add(picture, at: base + time, of: .idle, now: now) }
                for (time, samples) in taken.sound { state.add(samples, at: base + time, of: .idle, now: now) }
            }
        }
        if let length, due >= length {
            drop(&current)
            base = base + length
            return now
        }
        if length == nil, let failure = file.failure ?? silence(since: lastTaken, now: now) {
            refuse(opened.item, failure)
            drop(&current)
            base = now
            return now
        }
        return taken.next.map { base + $0 - Self.lead }
    }

    private func silence(since last: MediaTime, now: MediaTime) -> String? {
        now - last > Self.patience ? "cannot be played: no data for \(Int(Self.patience.inSeconds)) s" : nil
    }

    /// Puts a file on air as soon as its first frame is available.
    private func begin(_ opened: Opened, now: MediaTime) -> Bool {
        let file = opened.file
        guard file.isReady else {
            let failure =
                file.failure ?? (file.isDecoded ? "has neither pictures nor sound" : nil)
                ?? silence(since: opened.since, now: now)
            guard let failure else { return false }
            refuse(opened.item, failure)
            drop(&upcoming)
            return true
        }
        (current, upcoming) = (opened, nil)
        // Right after the previous file; otherwise so that its first picture is in time, and is the first one of the
        // mix.
        base = max(base, now, setup.videoOrigin)
        lastTaken = now
        let lacking = file.lacks
        shared.change { $0.noteIdleTracks(lacking: lacking, at: now) }
        order.began()
        report(
            .idle(
                IdleStatus(state: .playing, media: playlist.plan.items[opened.item].name, error: lastError),
                item: opened.item))
        return true
    }

    /// Opens the next item.
    ///
    /// - Returns: The time until which no file must be opened; `nil` if one was opened, or there is none.
    private func openNext(now: MediaTime) -> MediaTime? {
        switch order.take(now: now) {
        case .end:
            // The last file is delivered before its end.
            guard current == nil, now >= base else { return current == nil ? base : nil }
            isOver = true
            shared.change { $0.clearIdle() }
            report(.idle(IdleStatus(state: .ended, error: lastError), item: 0))
            return nil
        case .pause(let until):
            guard current == nil, now >= base else { return current == nil ? min(base, until) : nil }
            if pausedUntil != until {
                pausedUntil = until
                shared.change { $0.clearIdle() }
                report(.idle(IdleStatus(state: .failed, error: lastError), item: 0))
            }
            return until
        case .item(let item):
            let path = playlist.plan.items[item].path
            upcoming = Opened(
                file: MediaFile(path, in: place, setup: setup, news: news), item: item, since: now)
            return nil
        }
    }

    private func drop(_ opened: inout Opened?) {
        opened?.file.tearDown(waits: false)
        opened = nil
    }

    /// Records that an item is not played, and tells operators once.
    private func refuse(_ item: Int, _ reason: String) {
        order.failed()
        let message = "\(playlist.plan.items[item].name) \(reason.prefix(300))"
        lastError = message
        guard reported.count < 64, reported.insert(message).inserted else { return }
        report(.note(code: "idle-media-failed", message: message))
    }
}
