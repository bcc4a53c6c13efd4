import EventSubscription
import MixModel
import Testing

@testable import HTTPInterface

/// The state of a session, as it follows from observations of its room.
@Suite struct HMSCourseTests {
    private static let limits = HMSSession.Limits(longest: 100, empty: 20)

    /// Returns a session that was requested at time 0.
    private func session(
        _ kind: HMSSession.Kind = .externalStream, urls: Int = 1, records: Bool = true, page: Bool = false
    ) -> HMSSession {
        var session = HMSSession(
            id: "s1", kind: kind, room: "demo", session: "x", accessKey: "key", base: "http://a", at: 0)
        session.outputs = (0..<urls).map { HMSSession.Output(id: OutputID("o\($0)"), url: "rtmp://a/b/\($0)") }
        if records { session.recorder = HMSSession.Recorder(id: "r", isOwn: true) }
        if page { session.page = "page" }
        session.isComplete = true
        return session
    }

    private func seen(
        outputs: [HMSObservation.Part] = [.working], recording: HMSObservation.Part? = .working,
        page: HMSObservation.Page? = nil, people: Bool = true
    ) -> HMSObservation {
        var seen = HMSObservation()
        (seen.outputs, seen.recording, seen.page, seen.hasPeople) = (outputs, recording, page, people)
        return seen
    }

    private func events(_ session: HMSSession) -> [HMSNotice.Event] { session.outbox.map(\.event) }

    private static let file = HMSFilesOnDisk.File(name: "a.mp4", size: 1000, duration: 12)

    @Test func theWholeCourse() {
        var session = session(page: true)
        session.observe(seen(outputs: [.waiting], recording: .waiting, page: .waiting), at: 1, within: Self.limits)
        #expect(session.status == .starting)
        session.observe(seen(page: .waiting), at: 2, within: Self.limits)
        #expect(session.status == .starting, "the page is not on air yet")
        session.observe(seen(page: .working), at: 3, within: Self.limits)
        #expect(session.status == .running && session.startedAt == 3)
        session.observe(seen(outputs: [.waiting], page: .waiting), at: 4, within: Self.limits)
        #expect(session.status == .running, "an output that connects again is still one")

        session.stop(.request, at: 10)
        session.stop(.roomEnded, at: 11)
        #expect(session.status == .stopping && session.reason == "client request" && session.stoppedAt == 10)
        session.observe(seen(), at: 11, within: Self.limits)
        #expect(session.status == .stopping, "the room is not given back yet")
        session.holdsRoom = false
        var still = seen()
        still.isStillSent = true
        session.observe(still, at: 12, within: Self.limits)
        #expect(session.status == .stopping)
        session.observe(HMSObservation(), at: 13, within: Self.limits)
        #expect(session.status == .postProcessing)
        var done = HMSObservation()
        done.files = .beingWritten
        session.observe(done, at: 60, within: Self.limits)
        #expect(session.status == .postProcessing)
        done.files = .closed([Self.file])
        session.observe(done, at: 61, within: Self.limits)
        #expect(session.status == .completed && session.assets.map(\.file) == ["a.mp4"])
        #expect(events(session) == [.started, .stopped, .recorded])
        let over = session
        session.observe(seen(), at: 62, within: Self.limits)
        session.stop(.request, at: 63)
        #expect(session == over)
    }

    @Test func onlyAStreamHasNoFiles() {
        var session = session(records: false)
        session.observe(seen(recording: nil), at: 1, within: Self.limits)
        #expect(session.status == .running)
        session.stop(.request, at: 2)
        session.holdsRoom = false
        session.observe(HMSObservation(), at: 3, within: Self.limits)
        #expect(session.status == .completed && events(session) == [.started, .stopped])
    }

    @Test func onlyARecordingRuns() {
        var session = session(.recording, urls: 0)
        session.observe(seen(outputs: [], recording: .waiting), at: 1, within: Self.limits)
        #expect(session.status == .starting)
        session.observe(seen(outputs: []), at: 2, within: Self.limits)
        #expect(session.status == .running)
    }

    @Test func aRecordingThatNeverBeganLeavesNothing() {
        var session = session()
        session.stop(.request, at: 1)
        session.holdsRoom = false
        session.observe(HMSObservation(), at: 2, within: Self.limits)
        var done = HMSObservation()
        done.files = .closed([])
        session.observe(done, at: 3, within: Self.limits)
        #expect(session.status == .postProcessing, "a recorder may still be closing its file")
        session.observe(done, at: 3 + HMSSession.filePatience, within: Self.limits)
        #expect(session.status == .completed && session.assets.isEmpty && events(session) == [.stopped])
        #expect(session.duration == 0)
    }

    /// The room is recorded all the time, by another interface or for another session.
    @Test(arguments: [false, true]) func aRecordingThatGoesOnIsNotAwaitedForEver(isOwn: Bool) {
        var session = session()
        session.recorder?.isOwn = isOwn
        session.stop(.request, at: 1)
        session.holdsRoom = false
        var seen = HMSObservation()
        seen.isRecordingWanted = true
        session.observe(seen, at: 2, within: Self.limits)
        session.observe(seen, at: HMSSession.sharedPatience, within: Self.limits)
        #expect(session.status == .postProcessing)
        session.observe(seen, at: HMSSession.sharedPatience + 2, within: Self.limits)
        #expect(session.status == (isOwn ? .postProcessing : .completed))
        #expect(session.assets.isEmpty && events(session) == [.stopped])
    }

    @Test func oneDestinationOfTwoMayFail() {
        var session = session(urls: 2, records: false)
        session.observe(seen(outputs: [.failed("no"), .waiting], recording: nil), at: 1, within: Self.limits)
        #expect(session.status == .starting)
        session.observe(seen(outputs: [.failed("no"), .working], recording: nil), at: 2, within: Self.limits)
        #expect(session.status == .running)
        session.observe(seen(outputs: [.failed("no"), .failed("gone")], recording: nil), at: 3, within: Self.limits)
        #expect(session.status == .stopping && session.failure?.kind == .retries && session.failure?.message == "no")
        #expect(session.reason == "failure: MAX_RETRIES_REACHED")
        session.holdsRoom = false
        session.observe(HMSObservation(), at: 4, within: Self.limits)
        #expect(session.status == .failed && events(session) == [.started, .failed, .stopped])
    }

    @Test func aFailedRecordingAlone() {
        var session = session(.recording, urls: 0)
        session.observe(seen(outputs: [], recording: .failed("disk full")), at: 1, within: Self.limits)
        #expect(session.failure == HMSSession.Failure(kind: .upload, message: "disk full"))
        // The stream of a session with both continues.
        var both = self.session()
        both.observe(seen(recording: .failed("disk full")), at: 1, within: Self.limits)
        #expect(both.status == .running)
    }

    @Test func aPageThatIsGone() {
        var session = session(page: true)
        session.observe(seen(page: .gone), at: 1, within: Self.limits)
        session.observe(seen(page: .gone), at: 5, within: Self.limits)
        #expect(session.status == .starting, "the service may have just begun")
        session.observe(seen(page: .waiting), at: 5.5, within: Self.limits)
        session.observe(seen(page: .gone), at: 7, within: Self.limits)
        session.observe(seen(page: .gone), at: 12, within: Self.limits)
        #expect(session.failure?.kind == .internal)
        var running = self.session(page: true)
        running.observe(seen(page: .working), at: 1, within: Self.limits)
        running.observe(seen(page: .gone), at: 2, within: Self.limits)
        running.observe(seen(page: .gone), at: 7, within: Self.limits)
        #expect(running.status == .stopping && running.reason == "room ended" && running.failure == nil)
    }

    @Test func roomsThatEnd() {
        var session = session()
        var closed = seen(people: false)
        closed.isOpen = false
        session.observe(closed, at: 1, within: Self.limits)
        #expect(session.status == .running, "it was never open")
        session.observe(seen(), at: 2, within: Self.limits)
        session.observe(closed, at: 3, within: Self.limits)
        #expect(session.reason == "room ended")
    }

    @Test func durationsAreLimited() {
        var long = session()
        long.observe(seen(), at: 99, within: Self.limits)
        #expect(long.status == .running)
        long.observe(seen(), at: 100, within: Self.limits)
        #expect(long.reason == "max duration reached")

        var empty = session()
        empty.observe(seen(people: false), at: 1, within: Self.limits)
        empty.observe(seen(people: false), at: 50, within: Self.limits)
        #expect(empty.status == .running, "nobody was ever there: the app may not tell")
        empty.observe(seen(), at: 51, within: Self.limits)
        empty.observe(seen(people: false), at: 52, within: Self.limits)
        empty.observe(seen(people: false), at: 71, within: Self.limits)
        #expect(empty.status == .running)
        empty.observe(seen(people: false), at: 72, within: Self.limits)
        #expect(empty.reason == "last peer left")

        var free = session()
        for time in [1.0, 1e6] {
            free.observe(seen(), at: time, within: HMSSession.Limits(longest: 0, empty: 0))
        }
        #expect(free.status == .running)
    }

    @Test func whatAnotherRunWasStartingFails() {
        var session = session()
        session.isComplete = false
        session.observe(seen(), at: 1, within: Self.limits)
        #expect(session.status == .stopping && session.failure?.kind == .internal)
    }

    @Test func noticesAreBounded() {
        var session = session()
        session.outbox = (0..<HMSSession.mostNotices).map { HMSNotice(id: "\($0)", event: .started, at: 0) }
        session.observe(seen(), at: 1, within: Self.limits)
        #expect(session.status == .running && session.outbox.count == HMSSession.mostNotices)
    }

    @Test func liveStreamsKeepWhatTheyWereAskedTo() {
        var session = session(.liveStream, urls: 0, records: false)
        session.hls = HMSSession.HLS(keepsSegments: true, recordsFile: false, isOwn: true)
        var seen = HMSObservation()
        seen.hls = .waiting
        session.observe(seen, at: 1, within: Self.limits)
        #expect(session.status == .starting)
        (seen.hls, seen.hlsDirectory) = (.working, "1700000000000")
        session.observe(seen, at: 2, within: Self.limits)
        session.stop(.request, at: 8)
        session.holdsRoom = false
        session.observe(HMSObservation(), at: 9, within: Self.limits)
        session.observe(HMSObservation(), at: 10, within: Self.limits)
        #expect(session.status == .completed && session.assets.map(\.kind) == [.onDemand])
        #expect(session.path(of: session.assets[0]) == "/live/demo/vod/1700000000000.zip")
        #expect(session.outbox.map { session.type(of: $0.event) }.last == "hls.recording.success")
    }
}
