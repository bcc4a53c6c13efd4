import EventSubscription
import MixModel
import RoomService

/// The state of one session in its room at one moment.
struct HMSObservation: Hashable, Sendable {
    enum Part: Hashable, Sendable {
        case waiting, working
        case failed(String)
    }

    /// State of the session's page.
    enum Page: Hashable, Sendable {
        /// The page no longer exists.
        case gone
        case waiting, working
    }

    /// False if the room is closed, or has been deleted.
    var isOpen = true
    /// Whether there are participants other than pages in the room.
    var hasPeople = false
    /// State of the page; `nil` if the session has none.
    var page: Page?
    /// States of its outputs, in their order.
    var outputs: [Part] = []
    /// State of the recording; `nil` if the session records nothing.
    var recording: Part?
    /// State of HLS; `nil` if the session has none.
    var hls: Part?
    /// Directory name of the HLS segments.
    var hlsDirectory: String?
    /// Whether the program still sends a part of the session that it was told to end.
    var isStillSent = false
    /// Whether the room still wants its recording: others use it, or had begun it.
    var isRecordingWanted = false
    /// Files on disk; read only while a session waits for them.
    var files: HMSFilesOnDisk?
}

extension HMSObservation {
    /// - Parameters:
    ///   - room: `nil` if it has been deleted.
    ///   - pages: The pages of the room.
    init(_ room: RoomState?, _ pages: [PageSupervisor.View], of session: HMSSession) {
        let document = room?.room.document
        let status = room?.tasks.first { !$0.machine.document.isExplicit }?.status
        isOpen = document?.isOpen ?? false
        let users = Set(pages.map(\.user))
        hasPeople = document?.participants.contains { !users.contains($0.user) && $0.user != session.page } ?? false
        if let user = session.page {
            switch pages.first(where: { $0.user == user })?.state {
            case nil: page = .gone
            case .onAir: page = .working
            default: page = .waiting
            }
        }
        let destinations = status?.outputs.destinations ?? []
        let mine = session.outputs.map { output in destinations.first { $0.id == output.id } }
        outputs = mine.map { $0.map(Self.part) ?? .waiting }
        let recorders = (status?.outputs.recordings ?? []).filter { $0.id == session.recorder?.id }
        if session.recorder != nil { recording = recorders.first { $0.source == nil }.map(Self.part) ?? .waiting }
        isRecordingWanted = session.recorder.map { $0.id == document?.settings.recording?.id } ?? false
        if session.hls != nil {
            let state = status?.outputs.hls
            hls = state?.service.running == true && state?.variants.isEmpty == false ? .working : .waiting
            hlsDirectory = state?.session
        }
        isStillSent = mine.contains { $0 != nil }
    }

    private static func part(_ status: DestinationStatus) -> Part {
        switch status.state {
        case .connecting, .recovering: .waiting
        case .live: .working
        case .failed: .failed(Redaction.text(status.lastError ?? "the output has failed"))
        }
    }

    private static func part(_ status: RecordingStatus) -> Part {
        switch status.state {
        case .starting, .recovering: .waiting
        case .recording: .working
        case .ended: .failed("the recording ended by itself")
        case .failed: .failed(Redaction.text(status.error?.message ?? "the recording has failed"))
        }
    }
}
