import EncodedMedia
import LayoutEngine
import MixModel

extension MixState {
    /// Returns whether no scene has shown the source for a while, so that its pictures need not be decoded. The host's
    /// pictures are always decoded, because the canvas's grid follows them.
    func isUnseen(_ id: SourceID, now: MediaTime) -> Bool {
        guard id != setup.host, let source = sources[id], let last = source.lastSeen ?? source.fedVideo else {
            return false
        }
        // A scene that removes the source may be in a transition; `lastSeen` says until when.
        let isWanted = [player?.scene, wanted?.scene].contains { $0?.showsLive(id) ?? false }
        return !isWanted && now - last > Patience.unseen
    }

    /// Records that the source's pictures are no longer decoded. It then counts as a source from which nothing has
    /// arrived.
    mutating func hide(_ id: SourceID) {
        // One that no scene has ever shown stays unseen, too.
        let source = sources[id]
        sources[id]?.lastSeen = source?.lastSeen ?? source?.fedVideo
        sources[id]?.pictures = [:]
        sources[id]?.decoding = DecoderBacklog()
        sources[id]?.fedVideo = nil
        sources[id]?.lastPicture = nil
    }
}

extension Scene {
    /// Returns whether the scene shows the source's own pictures.
    func showsLive(_ id: SourceID) -> Bool { panes.contains { $0.isLive && $0.source == id.rawValue } }
}
