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

    /// Returns a URL with which anyone can fetch an asset for a while, and the seconds for which it is valid.
    ///
    /// - Parameters:
    ///   - base: URL of this service from the reader's point of view.
    ///   - key: Signs URLs of this service.
    ///   - seconds: Validity of URLs of this service. That of a storage's URL is a setting of uploads.
    func presignedURL(
        of asset: HMSAsset, in session: HMSSession, base: String, by key: AccessKey, seconds: Int
    ) async throws -> (url: String, seconds: Int) {
        if let stored = try await storedLink(asset, of: session) { return stored }
        let end = Int(wallClock()) + seconds
        switch asset.kind {
        case .composite:
            let query = HMSFileURL.query(of: asset.id, until: end, key.key)
            return ("\(base)/v2/recording-assets/\(asset.id)/file?\(query)", seconds)
        case .onDemand:
            let path = session.path(of: asset)
            let query = playback.authKey(path: path, time: end).map { "?\(PlaybackAccess.parameter)=\($0)" }
            return (base + path + (query ?? ""), seconds)
        }
    }

    /// Returns URLs of a session's files for a webhook, by the files' ids. Files that cannot be found now have none.
    func presignedURLs(of session: HMSSession) async -> [String: String] {
        guard let key = keys[session.accessKey] else { return [:] }
        var urls: [String: String] = [:]
        for asset in session.assets {
            let link = try? await presignedURL(
                of: asset, in: session, base: session.base, by: key, seconds: HMSFileURL.validity)
            urls[asset.id] = link?.url
        }
        return urls
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
