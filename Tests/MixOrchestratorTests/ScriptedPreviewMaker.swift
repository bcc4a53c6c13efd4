import MixModel
import Synchronization

@testable import RoomService

/// A preview maker whose picture names its source.
final class ScriptedPreviewMaker: PreviewMaking {
    let requests = Mutex<[PreviewRequest]>([])
    let failure = LockedBox<String?>(nil)

    func answer(_ request: PreviewRequest) async throws(OrchestratorError) -> PreviewAnswer {
        requests.withLock { $0.append(request) }
        if let failure = failure.value { return PreviewAnswer(failure: failure) }
        let level = SoundLevel(peak: -Double(request.flv.count), rms: -20)
        return PreviewAnswer(jpeg: request.side > 0 ? [0xFF, 0xD8] + request.flv : [], level: level)
    }

    var count: Int { requests.withLock { $0.count } }
}
