import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import NIOCore
import NIOPosix
import RoomService

/// `GET /live/{room}/index.m3u8` and the files it names: the playlists and segments written by the packager of the
/// room's automatic task.
///
/// They remain available for a while after the program has ended, and after a restart of the service. Rooms of apps
/// other than the standard one are at `/live/{app}/{room}/…`.
///
/// With keys configured, each URI in a playlist is signed like the playlist's own, so that players need only the
/// address that they were given.
package struct HLSController: Sendable {
    let registry: RoomRegistry
    let files: HLSFiles
    let access: PlaybackAccess
    let origins: PlaybackOrigins
    let cache: SegmentCache
    var archives = HLSArchives()

    package init(
        registry: RoomRegistry, files: HLSFiles, access: PlaybackAccess, origins: PlaybackOrigins,
        cache: SegmentCache, archives: HLSArchives = HLSArchives()
    ) {
        self.registry = registry
        self.files = files
        self.access = access
        self.origins = origins
        self.cache = cache
        self.archives = archives
    }

    /// Maximum time for which a client waits for a playlist that is about to exist.
    static let patience = Duration.seconds(10)
    /// Validity of the signed addresses of playlists and segments in a playlist, in seconds.
    private static let playlistValidity = 86_400
    private static let segmentValidity = 7_200

    /// Adds the routes.
    ///
    /// The router requires the same parameter name at the same position. The first name is the app's, or the room's if
    /// it is the only one.
    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("live/{app}/index.m3u8", use: master)
        router.get("live/{app}/hls/{session}/{file}", use: file)
        router.get("live/{app}/vod/{session}.zip", use: archive)
        router.on("live/{app}/index.m3u8", method: .options, use: preflight)
        router.on("live/{app}/hls/{session}/{file}", method: .options, use: filePreflight)
        router.get("live/{app}/{room}/index.m3u8", use: master)
        router.get("live/{app}/{room}/hls/{session}/{file}", use: file)
        router.get("live/{app}/{room}/vod/{session}.zip", use: archive)
        router.on("live/{app}/{room}/index.m3u8", method: .options, use: preflight)
        router.on("live/{app}/{room}/hls/{session}/{file}", method: .options, use: filePreflight)
    }

    @Sendable private func master(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let room = try Self.room(context)
        try check(request)
        guard let item = try await found(room), let text = await text(item) else {
            throw OrchestratorError(
                .notFound, "no-hls", "The room has no HLS",
                detail: "\(room.name): PUT /v1/rooms/\(room.name)/hls enables it; it begins with the first segment")
        }
        return playlist(text, item, prefix: "hls/\(item.session)/", request)
    }

    @Sendable private func file(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let room = try Self.room(context)
        try check(request)
        let session = try context.identifier("session")
        let name = try context.identifier("file")
        guard let item = files.item(room, session: session, file: name) else { throw Self.noFile(name) }
        switch item.kind {
        case .playlist:
            guard let text = await text(item) else { throw try await missing(name, of: room) }
            return playlist(await files.marked(text, item), item, prefix: "", request)
        case .segment:
            guard let buffer = await cache.segment(item.path) else { throw try await missing(name, of: room) }
            return segment(buffer, item, request)
        }
    }

    /// Returns the room's master playlist, waiting for one that is about to exist, because players ask only once.
    private func found(_ room: RoomID) async throws -> HLSFiles.Item? {
        // The playlist that another node writes now is newer than one that the room may have left here.
        if registry.mayBeElsewhere(room),
            (try? await registry.shownState(of: room))?.expects(PlannedHLS.self) ?? false
        {
            try await registry.checkHome(of: room)
        }
        if let item = try await files.master(of: room) { return item }
        let deadline = ContinuousClock.now + Self.patience
        while try await registry.snapshot(room)?.expects(PlannedHLS.self) ?? false, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(200))
            if let item = try await files.master(of: room) { return item }
        }
        return nil
    }

    /// Returns the error for a file that is not here.
    ///
    /// - Throws: `OrchestratorError` if another node has the room, to which the request is passed on.
    private func missing(_ name: String, of room: RoomID) async throws -> OrchestratorError {
        try await registry.checkHome(of: room)
        return Self.noFile(name)
    }

    private func text(_ item: HLSFiles.Item) async -> String? {
        await SegmentCache.read(item.path).map { String(buffer: $0) }
    }

    // MARK: Answers

    private func playlist(_ text: String, _ item: HLSFiles.Item, prefix: String, _ request: Request) -> Response {
        let path = request.uri.path
        let base = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
        let shown = PlaylistText.mapping(text) { uri in
            signed("\(prefix)\(uri)", path: "\(base)\(prefix)\(uri)")
        }
        var checksum = CRC32()
        checksum.update(shown.utf8)
        let isOver = text.contains("#EXT-X-ENDLIST")
        var headers = headers(request, type: "application/vnd.apple.mpegurl", tag: "\"\(checksum.value)\"")
        headers[.cacheControl] = isOver ? "max-age=60" : "max-age=1"
        if Self.isKnown(headers[.eTag], request) { return Response(status: .notModified, headers: headers) }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: shown)))
    }

    private func segment(_ buffer: ByteBuffer, _ item: HLSFiles.Item, _ request: Request) -> Response {
        var headers = headers(request, type: "video/mp2t", tag: "\"\(item.session)-\(item.name)\"")
        headers[.cacheControl] = "public, max-age=86400, immutable"
        headers[.acceptRanges] = "bytes"
        if Self.isKnown(headers[.eTag], request) { return Response(status: .notModified, headers: headers) }
        switch Self.range(request, tag: headers[.eTag], length: buffer.readableBytes) {
        case .whole: return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: buffer))
        case .unsatisfiable:
            headers[.contentRange] = "bytes */\(buffer.readableBytes)"
            return Response(status: .rangeNotSatisfiable, headers: headers)
        case .part(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(buffer.readableBytes)"
            let part = buffer.getSlice(at: buffer.readerIndex + range.lowerBound, length: range.count) ?? ByteBuffer()
            return Response(status: .partialContent, headers: headers, body: ResponseBody(byteBuffer: part))
        }
    }

    /// Serves `GET /live/{room}/vod/{session}.zip`.
    @Sendable private func archive(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let room = try Self.room(context)
        try check(request)
        let session = try context.identifier("session")
        let name = "\(session).zip"
        guard let facts = try await files.facts(room, session: session) else {
            throw try await missing(name, of: room)
        }
        guard facts.settings.enableVOD, facts.isEnded else {
            throw OrchestratorError(
                .conflict, "archive-not-ready", "The archive is not available",
                detail: facts.settings.enableVOD
                    ? "\(name): it is available once HLS of the room has ended"
                    : "\(name): its segments are not kept: set enableVOD next time")
        }
        let directory = "\(files.directory(of: room))/\(session)"
        guard let archive = try await archives.archive(in: directory) else { throw Self.noFile(name) }
        var headers = headers(request, type: "application/zip", tag: "\"\(session)-\(archive.length)\"")
        headers[.acceptRanges] = "bytes"
        headers[.cacheControl] = "no-cache"
        headers[.contentDisposition] = "attachment; filename=\"\(name)\""
        var status = HTTPResponse.Status.ok
        let range: Range<Int>
        switch Self.range(request, tag: headers[.eTag], length: archive.length) {
        case .whole: range = 0..<archive.length
        case .part(let part):
            range = part
            status = .partialContent
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(archive.length)"
        case .unsatisfiable:
            headers[.contentRange] = "bytes */\(archive.length)"
            return Response(status: .rangeNotSatisfiable, headers: headers)
        }
        let body = ResponseBody(contentLength: range.count) { writer in
            var sent = range.lowerBound
            while let (part, slice) = archive.slice(at: sent..<min(sent + Self.chunk, range.upperBound)) {
                switch part {
                case .bytes(let bytes): try await writer.write(ByteBuffer(bytes: bytes[slice]))
                case .file(let path, _):
                    try await writer.write(try await Self.read(path, at: slice.lowerBound, count: slice.count))
                }
                sent += slice.count
            }
            try await writer.finish(nil)
        }
        return Response(status: status, headers: headers, body: body)
    }

    private static let chunk = 256 << 10

    /// Reads part of a file.
    ///
    /// - Throws: An error if the file is shorter or has been deleted.
    private static func read(_ path: String, at position: Int, count: Int) async throws -> ByteBuffer {
        try await NIOThreadPool.singleton.runIfActive {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            try handle.seek(toOffset: UInt64(position))
            guard let data = try handle.read(upToCount: count), data.count == count else {
                throw CocoaError(.fileReadCorruptFile)
            }
            return ByteBuffer(bytes: data)
        }
    }

    // MARK: Access

    private func check(_ request: Request) throws {
        guard !access.isOpen else { return }
        do throws(PlaybackAccess.Refusal) {
            let authKey = request.uri.queryParameters[Substring(PlaybackAccess.parameter)].map(String.init)
            try access.check(path: request.uri.path, authKey: authKey, now: Int(Date().timeIntervalSince1970))
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Signs a URI. The address stays the same for 10 minutes (segments) or 1 hour (playlists), so that caches can
    /// share it.
    private func signed(_ uri: String, path: String) -> String {
        guard !access.isOpen else { return uri }
        let isPlaylist = uri.hasSuffix(".m3u8")
        let step = isPlaylist ? 3600 : 600
        let time = Int(Date().timeIntervalSince1970) / step * step
        let until = time + (isPlaylist ? Self.playlistValidity : Self.segmentValidity)
        return access.authKey(path: path, time: until).map { "\(uri)?\(PlaybackAccess.parameter)=\($0)" } ?? uri
    }

    private func headers(_ request: Request, type: String, tag: String) -> HTTPFields {
        var headers = origins.headers(origin: request.headers[.origin])
        headers[.contentType] = type
        headers[.eTag] = tag
        return headers
    }

    private static func isKnown(_ tag: String?, _ request: Request) -> Bool {
        tag.map { EntityTags.isKnown($0, ifNoneMatch: request.headers[.ifNoneMatch]) } ?? false
    }

    /// Returns the requested range. With `If-Range`, a part of another version is useless (RFC 9110 §13.1.5).
    private static func range(_ request: Request, tag: String?, length: Int) -> ByteRange {
        if let condition = request.headers[.ifRange], condition != tag { return .whole }
        return ByteRange(request.headers[.range], length: length)
    }

    @Sendable private func preflight(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        _ = try Self.room(context)
        return Response(status: .noContent, headers: origins.preflight(origin: request.headers[.origin]))
    }

    @Sendable private func filePreflight(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let (session, file) = (try context.identifier("session"), try context.identifier("file"))
        guard HLSFiles.isSession(session), HLSFiles.kind(of: file) != nil else { throw Self.noFile(file) }
        return try await preflight(request, context)
    }

    private static func room(_ context: OrchestratorContext) throws -> RoomID {
        let first = try context.identifier("app")
        guard context.parameters.get("room") != nil else { return RoomID(app: .standard, name: first) }
        return RoomID(app: AppID(first), name: try context.identifier("room"))
    }

    private static func noFile(_ name: String) -> OrchestratorError {
        OrchestratorError(
            .notFound, "no-hls-file", "There is no such file",
            detail: "\(name): it never existed, or left the playlist a while ago; reload the playlist")
    }
}
