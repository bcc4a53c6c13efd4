import EncodedMedia
import Foundation
import MixModel
import TestSupport
import Testing
import WebRTCSupport

/// A real `mixworker whep`, and the service that controls it.
typealias WhepRig = WorkerRig<PlayCommand, PlayReport>

extension WorkerRig where Command == PlayCommand, Report == PlayReport {
    /// Returns when the worker has sent its hello, and has been told its stream.
    static func start(
        _ origin: PlayOrigin, silence: Double = 10, patience: Double = 30, orphanTimeout: Double = 60
    ) async throws -> WhepRig {
        let rig = try await WhepRig(.whep, orphanTimeout: orphanTimeout)
        try await rig.greet()
        rig.send(
            .play(
                PlaySource(
                    stream: "stream", origin: origin, network: WebRTCNetwork(addresses: ["127.0.0.1"]),
                    silence: silence, patience: patience)))
        return rig
    }

    func greet() async throws {
        send(.hello(version: PlayCommand.version))
        #expect(try await outputEventually { self.hello != nil }, "\(log)")
    }

    var hello: (stream: String?, viewers: [PlayViewer])? {
        first { if case .hello(_, _, let stream, let viewers) = $0 { (stream, viewers) } else { nil } }
    }
    var failure: String? { first { if case .failed(let reason) = $0 { reason } else { nil } } }
    var figures: PlayFigures? {
        reports.lazy.compactMap { if case .figures(let figures) = $0 { figures } else { nil } }.last
    }

    func answer(of viewer: String) -> String? {
        first { if case .answered(viewer, let answer) = $0 { answer } else { nil } }
    }
    func refusal(of viewer: String) -> String? {
        first { if case .refused(viewer, let reason) = $0 { reason } else { nil } }
    }
    func end(of viewer: String) -> String? {
        first { if case .ended(viewer, let reason) = $0 { reason } else { nil } }
    }

    /// Adds a viewer. Returns when the first picture has arrived; the times are in ms since the offer.
    func watch(_ id: String, hasAudio: Bool = true) async throws -> (viewer: WebRTCViewer, answer: Int, picture: Int) {
        let viewer = try await WebRTCViewer()
        let offer = try await viewer.offer(hasAudio: hasAudio)
        let start = MonotonicClock.now()
        send(.view(PlayViewer(id: id, note: "note of \(id)"), offer: offer))
        #expect(try await outputEventually { self.answer(of: id) != nil || self.refusal(of: id) != nil }, "\(log)")
        let answered = MonotonicClock.now()
        viewer.peer.accept(try #require(answer(of: id), "\(refusal(of: id) ?? "") \(log)"))
        #expect(
            try await outputEventually { !viewer.pictures.isEmpty },
            "\(viewer.failure ?? "") \(reports)\n\(log)")
        let first = viewer.pictures.first?.arrival ?? .max
        return (viewer, Int((answered - start) / 1_000_000), Int((first - start) / 1_000_000))
    }
}
