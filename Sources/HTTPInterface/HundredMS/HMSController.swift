import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import NIOCore
import RoomService
import TextFormats

/// The calls of 100ms' server API that have a counterpart here, below `/v2`.
///
/// Callers present management tokens, signed with the secret of an access key (`apps.accessKeys`); refusals of these
/// routes have 100ms' form.
package struct HMSController: Sendable {
    private let desk: HMSDesk?
    private let keys: AccessKeys
    private let limits: RateLimits
    private let scheme: String

    /// - Parameters:
    ///   - desk: `nil` if the interface is off. Every call is then answered with 404.
    ///   - isSecure: Whether the service itself speaks TLS.
    package init(desk: HMSDesk?, keys: AccessKeys, limits: RateLimits, isSecure: Bool) {
        self.desk = desk
        self.keys = keys
        self.limits = limits
        scheme = isSecure ? "https" : "http"
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v2/{family}", use: list)
        router.get("v2/{family}/{id}", use: get)
        router.get("v2/{family}/{id}/{action}", use: getPart)
        router.post("v2/{family}/{id}/{action}", use: change)
        router.post("v2/{family}/room/{id}/{action}", use: changeRoom)
    }

    // MARK: - Routes

    private static let assets = "recording-assets"
    private static let families = HMSSession.Kind.allCases.map(\.rawValue) + [assets]

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        await answer(request, context) { desk, call, family in
            let (limit, start) = try call.page()
            let kind = HMSSession.Kind(rawValue: family)
            guard kind != nil || family == Self.assets else { throw Self.unknownFamily }
            let sessions = await desk.book.list(call.app, try call.filter(kind))
            guard kind == nil else {
                let page = HMSPage.entries(of: sessions, limit, after: start, id: \.id)
                return HMSPage(page, limit, pictured: await desk.pictured(page)).document
            }
            let wanted = try call.assetFilter()
            let assets = sessions.flatMap { session in
                session.assets.filter { wanted.takes($0) }.map { (session: session, asset: $0) }
            }
            let page = HMSPage.entries(of: assets, limit, after: start, id: \.asset.id)
            let pictured = await desk.pictured(page.map(\.session))
            return HMSPage(page, limit, id: \.asset.id) { $0.session.assetView($0.asset, pictured) }.document
        }
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        await answer(request, context) { desk, call, family in
            if family == Self.assets {
                let (session, asset) = try await Self.asset(call.id, desk, of: call.app)
                return session.assetView(asset, await desk.pictured([session]))
            }
            guard let kind = HMSSession.Kind(rawValue: family) else { throw Self.unknownFamily }
            guard let session = await desk.find(call.id, kind, of: call.app) else { throw Self.unknown(kind) }
            return session.view(pictured: await desk.pictured([session]))
        }
    }

    @Sendable private func getPart(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let action = context.parameters.get("action")
        if action == "file", context.parameters.get("family") == Self.assets { return await file(request, context) }
        return await answer(request, context) { desk, call, family in
            guard family == Self.assets, action == "presigned-url" else { throw Self.unknownCall }
            let (session, asset) = try await Self.asset(call.id, desk, of: call.app)
            let validity = try call.request.queryInteger("presign_duration", in: HMSFileURL.validities)
            let link = try await desk.presignedURL(
                of: asset, in: session, base: call.base, by: call.key, seconds: validity ?? HMSFileURL.validity)
            return .object([
                "id": .string(asset.id), "path": .string(session.path(of: asset)), "url": .string(link.url),
                "expiry": .number(Double(link.seconds)),
            ])
        }
    }

    @Sendable private func change(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let action = context.parameters.get("action")
        return await answer(request, context) { desk, call, family in
            if family == "active-rooms", action == "end-room" {
                try await desk.endRoom(try call.room())
                return .object(["message": .string("session is ending")])
            }
            guard let kind = HMSSession.Kind(rawValue: family) else { throw Self.unknownFamily }
            let session: HMSSession?
            switch (kind, action) {
            case (_, "stop"): session = try await desk.stop(call.id, kind, of: call.app)
            case (.liveStream, "timed-metadata"):
                session = try await desk.announce(try HMSCue(call.body), to: call.id, of: call.app)
            case (.liveStream, "pause-recording"), (.liveStream, "resume-recording"):
                session = try await desk.setPaused(action == "pause-recording", call.id, kind, of: call.app)
            case (.recording, "pause"), (.recording, "resume"):
                // In 100ms' API, this is the id of the room.
                let isPaused = action == "pause"
                let known = try await desk.setPaused(isPaused, call.id, kind, of: call.app)
                session =
                    if let known { known } else {
                        try await desk.setPaused(isPaused, recordingIn: try call.room())
                    }
            default: throw Self.unknownCall
            }
            guard let session else { throw Self.unknown(kind) }
            return session.view()
        }
    }

    @Sendable private func changeRoom(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let action = context.parameters.get("action")
        return await answer(request, context) { desk, call, family in
            guard let kind = HMSSession.Kind(rawValue: family) else { throw Self.unknownFamily }
            let room = try call.room()
            switch action {
            case "start":
                let wish = try HMSStart(call.body, kind, desk.settings)
                return try await desk.start(kind, wish, in: room, by: call.key.id, base: call.base).view()
            case "stop":
                let stopped = try await desk.stopAll(kind, in: room)
                return HMSPage(Array(stopped.prefix(100)), 100).document
            case "pause" where kind == .recording, "resume" where kind == .recording:
                guard let session = try await desk.setPaused(action == "pause", recordingIn: room) else {
                    throw Self.unknown(kind)
                }
                return session.view()
            default: throw Self.unknownCall
            }
        }
    }

    // MARK: - Files

    /// Answers with the file of an asset, for any client with a signed URL.
    private func file(_ request: Request, _ context: OrchestratorContext) async -> Response {
        do {
            guard let desk else { throw Self.off }
            let id = context.parameters.get("id") ?? ""
            guard let (session, asset) = await desk.asset(id), asset.kind == .composite,
                let key = keys[session.accessKey],
                HMSFileURL.isValid(
                    expires: try request.queryText("expires"), signature: try request.queryText("signature"),
                    of: asset.id, key.key, now: wallClock())
            else {
                if let seconds = limits.failures.take(by: .address(context.peer)) { throw Self.tooMany(seconds) }
                throw HMSFault(.forbidden, "the URL is not valid", ["get a new one with …/presigned-url"])
            }
            guard let path = desk.shelf.path(of: asset.file, room: session.room),
                let file = try await OpenFile.opened(path)
            else {
                // The file may have moved to a storage since the URL was made.
                guard let stored = try await desk.storedLink(asset, of: session) else {
                    throw HMSFault.notFound("file", "it has been removed")
                }
                return Response(status: .found, headers: [.location: stored.url, .cacheControl: "no-store"])
            }
            return try FileDownload(file: file, name: asset.file).response(request)
        } catch {
            return Self.response(HMSFault(error), request)
        }
    }

    private static func asset(
        _ id: String, _ desk: HMSDesk, of app: AppID
    ) async throws(HMSFault) -> (HMSSession, HMSAsset) {
        guard let (session, asset) = await desk.asset(id), session.app == app else {
            throw .notFound("recording asset", "GET /v2/recording-assets lists the existing ones")
        }
        return (session, asset)
    }

    // MARK: - Callers and answers

    /// Authenticates a call, performs it, and answers in 100ms' form, refusals included.
    private func answer(
        _ request: Request, _ context: OrchestratorContext,
        _ perform: (HMSDesk, HMSCall, _ family: String) async throws -> JSONValue
    ) async -> Response {
        do {
            let key = try authenticate(request, context)
            guard let desk else { throw Self.off }
            if let seconds = limits.requests.take(by: .accessKey(key.id)) {
                throw HMSFault(
                    .tooManyRequests, "too many requests", ["retry in \(seconds) s; the limit is http.rate.requests"],
                    retryAfter: seconds)
            }
            let call = HMSCall(
                key: key, request: request, base: base(of: request, desk.settings),
                body: try await body(of: request, context), id: try Self.id(context))
            return Self.response(.ok, try await perform(desk, call, context.parameters.get("family") ?? ""))
        } catch {
            let fault = HMSFault(error)
            if fault.status.kind == .serverError { context.logger.error("100ms: \(fault.message)") }
            return Self.response(fault, request)
        }
    }

    private func authenticate(_ request: Request, _ context: OrchestratorContext) throws(HMSFault) -> AccessKey {
        do throws(HMSFault) {
            guard let token = AccessMiddleware.token(request) else {
                throw .token("not found: expected Authorization: Bearer, followed by a management token")
            }
            return try ManagementToken.key(of: token, among: keys, now: wallClock())
        } catch {
            var fault = limits.failures.take(by: .address(context.peer)).map(Self.tooMany) ?? error
            if desk == nil { fault.details += Self.off.details }
            throw fault
        }
    }

    private static func tooMany(_ seconds: Int) -> HMSFault {
        HMSFault(
            .tooManyRequests, "too many requests without a valid token",
            ["retry in \(seconds) s; the limit is http.rate.failures"], retryAfter: seconds)
    }

    /// Reads the body, which calls without parameters may omit.
    private func body(of request: Request, _ context: OrchestratorContext) async throws -> JSONValue {
        guard request.method == .post, request.head.announcesBody else { return .object([:]) }
        try request.checkLength(upTo: HMSCall.longestBody)
        context.wantsBody(of: request)
        let bytes = try await request.bytes(upTo: HMSCall.longestBody)
        let body = bytes.isEmpty ? .object([:]) : try JSONValue(parsing: bytes)
        guard case .object = body else { throw HMSFault.invalid("the body", "a JSON object") }
        return body
    }

    /// Returns the URL of this service from the caller's point of view.
    private func base(of request: Request, _ settings: HMSSettings) -> String {
        let host = request.head.authority ?? "localhost"
        let isHost =
            (1...253).contains(host.utf8.count)
            && host.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"),
                    UInt8(ascii: "["), UInt8(ascii: "]"):
                    true
                default: false
                }
            }
        return settings.publicURL ?? "\(scheme)://\(isHost ? host : "localhost")"
    }

    private static func id(_ context: OrchestratorContext) throws -> String {
        guard let text = context.parameters.get("id") else { return "" }
        return try EventParser.knownIdentifier(
            text.removingPercentEncoding ?? text, field: "id", longest: EventParser.longestIdentifier)
    }

    private static let off = HMSFault(
        .notFound, "100ms' interface is off", ["expected hundredms.enabled: true in the configuration of the service"])

    private static let unknownFamily = HMSFault(
        .notFound, "there is no such call here", ["expected one of " + families.joined(separator: ", ")])

    private static let unknownCall = HMSFault(
        .notFound, "there is no such call here", ["docs/100ms.md lists the calls that there are"])

    private static func unknown(_ kind: HMSSession.Kind) -> HMSFault {
        .notFound(String(kind.rawValue.dropLast()), "GET /v2/\(kind.rawValue) lists the existing ones")
    }

    private static func response(_ status: HTTPResponse.Status, _ document: JSONValue) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: JSONText.of(document))))
    }

    private static func response(_ fault: HMSFault, _ request: Request) -> Response {
        let response = response(fault)
        return request.method == .head ? response.createHeadResponse() : response
    }

    private static func response(_ fault: HMSFault) -> Response {
        var response = response(fault.status, fault.document)
        if let seconds = fault.retryAfter { response.headers[.retryAfter] = "\(max(1, seconds))" }
        if fault.status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer realm=\"mixorchestrator\"" }
        return response
    }

    /// The form of answers to requests below `/v2` that reach no route: another path, or another method.
    package static let problemForm = ProblemForm(prefix: "/v2") { response(HMSFault($0)) }
}
