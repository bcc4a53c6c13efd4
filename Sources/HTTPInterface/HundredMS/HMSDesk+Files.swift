import EncodedMedia
import MixModel
import RoomService

/// The files of sessions, here and in storages.
extension HMSDesk {
    /// Returns the recorded files of these sessions for which thumbnails exist.
    func pictured(_ sessions: [HMSSession]) async -> Set<String> {
        var pictured: Set<String> = []
        for (room, sessions) in Dictionary(grouping: sessions, by: \.room) {
            let files = sessions.flatMap(\.assets).filter { $0.kind == .composite }.map(\.file)
            // Without the thread pool, which happens only at shutdown, nothing is known.
            if let found = try? await shelf.pictured(files, of: room) { pictured.formUnion(found) }
        }
        return pictured
    }

    /// Returns a link to an asset whose file is only in a storage, with the seconds for which it is valid.
    func storedLink(_ asset: HMSAsset, of session: HMSSession) async throws -> (url: String, seconds: Int)? {
        let reports: [UploadReport]?
        switch asset.kind {
        case .composite:
            let file = try await shelf.file(asset.file, of: session.room)
            reports = file?.isHere == false ? file?.storage : nil
        case .onDemand:
            let archive = try await archives?.file(asset.file, of: session.room)
            reports = archive?.isHere == false ? archive?.storage : nil
        }
        for report in reports ?? [] {
            if let link = report.link, let end = report.linkEnd { return (link, max(0, Int(end - wallClock()))) }
        }
        return nil
    }
}
