import EventSubscription
import Foundation
import MixModel
import RoomService
import TextFormats

/// Decides who may publish to the service's own RTMP server, and who may play from it.
///
/// A signed URL (`auth_key`, as for playback) or a token (`?token=`) gives access. With neither a key nor tokens
/// configured, access is open, and the server listens on loopback only.
package struct PublisherAccess: IngestGate {
    private let signatures: PlaybackAccess
    private let tokens: AccessTokens
    private let names: NamePatterns
    private let allowsPlay: Bool
    /// Access to programs, over HTTP and over RTMP.
    private let playback: PlaybackAccess
    private let limits: RateLimits

    /// Name of the query parameter with a token.
    package static let tokenParameter = "token"

    /// - Parameters:
    ///   - signatures: Open if no key is configured.
    ///   - names: The rules that map a stream's name to a room and a user.
    ///   - allowsPlay: Whether clients may play published streams; relays of the service always may.
    ///   - playback: Access to programs.
    package init(
        signatures: PlaybackAccess, tokens: AccessTokens, names: NamePatterns, allowsPlay: Bool,
        playback: PlaybackAccess, limits: RateLimits
    ) {
        self.signatures = signatures
        self.tokens = tokens
        self.names = names
        self.allowsPlay = allowsPlay
        self.playback = playback
        self.limits = limits
    }

    package func verdict(on request: IngestRequest) -> IngestVerdict {
        let program = request.isPublish ? nil : ProgramPath(request)
        guard request.isPublish || allowsPlay || program != nil else {
            return denied(
                "playing published streams is off: set ingest.play to on, or play the program: program/{room}")
        }
        let arguments = HookForm(request.query.utf8)
        if let program { return verdict(on: program, request, arguments) }
        let caller: Caller?
        do throws(Refusal) {
            caller = try authenticate(request, arguments)
        } catch {
            return refused(request, error.words)
        }
        let stream = MediaServerStream(app: request.application, name: request.name, arguments: arguments)
        switch names.names(of: stream) {
        case .failure(let reason):
            let words = "the stream key is in no room: \(reason.text)"
            guard request.isPublish else { return .refused(isName: true, reason: words) }
            return .nameless(app: caller?.app ?? names.fixedTenant ?? .standard, reason: words)
        case .success(var found):
            guard let caller else { return .allowed(found) }
            if found.room.app == .standard { found.room = RoomID(app: caller.app, name: found.room.name) }
            guard found.room.app == caller.app else {
                return denied("the token belongs to another app than the stream key")
            }
            return .allowed(found)
        }
    }

    package func names(of request: IngestRequest) -> StreamNames? {
        let arguments = HookForm(request.query.utf8)
        return try? names.names(
            of: MediaServerStream(app: request.application, name: request.name, arguments: arguments)
        ).get()
    }

    private func verdict(
        on program: ProgramPath, _ request: IngestRequest, _ arguments: HookForm
    ) -> IngestVerdict {
        do throws(PlaybackAccess.Refusal) {
            try check(playback, request, arguments)
        } catch {
            return refused(request, words(of: error, "URL", tokens: ""))
        }
        do throws(InputError) {
            let room = try program.room()
            let task = try arguments.first("task").map { name throws(InputError) in
                TaskID(app: room.app, name: try EventParser.knownIdentifier(name, field: "task"))
            }
            return .program(room, task: task)
        } catch {
            return .refused(isName: true, reason: "the \(error.field) is not valid: expected \(error.expected)")
        }
    }

    private struct Refusal: Error {
        let words: String
    }

    private func denied(_ words: String) -> IngestVerdict { .refused(isName: false, reason: words) }

    /// Counts a refusal of credentials. Only these are slowed down: others at the same address, such as programs on this
    /// machine, may have valid ones.
    private func refused(_ request: IngestRequest, _ words: String) -> IngestVerdict {
        guard let seconds = limits.failures.take(by: .address(request.address)) else { return denied(words) }
        return denied("too many refused attempts from this address: try again in \(seconds) s")
    }

    /// Returns the holder of the token; `nil` if there is no token and none is needed.
    private func authenticate(_ request: IngestRequest, _ arguments: HookForm) throws(Refusal) -> Caller? {
        if !tokens.isEmpty, let token = arguments.first(Self.tokenParameter) {
            let scope: Scope = request.isPublish ? .publish : .read
            guard let caller = tokens.caller(showing: token) else {
                throw Refusal(words: "the token is not known")
            }
            guard caller.scopes.contains(scope) else {
                throw Refusal(words: "the token lacks the scope \(scope.rawValue)")
            }
            return caller
        }
        guard !signatures.isOpen else {
            guard tokens.isEmpty else {
                throw Refusal(words: "the stream key has no token: append ?token=… of a token with the scope publish")
            }
            return nil
        }
        do throws(PlaybackAccess.Refusal) {
            try check(signatures, request, arguments)
            return nil
        } catch {
            throw Refusal(words: words(of: error, "stream key", tokens: tokens.isEmpty ? "" : ", or append ?token=…"))
        }
    }

    private func check(
        _ access: PlaybackAccess, _ request: IngestRequest, _ arguments: HookForm
    ) throws(PlaybackAccess.Refusal) {
        let parts = "\(request.application)/\(request.name)".split(separator: "/").map { String($0) }
        let plain = "/" + parts.joined(separator: "/")
        // The signature covers the URL as written, but clients may send its parts decoded.
        let encoded = "/" + parts.map(PercentEncoding.encoded).joined(separator: "/")
        let key = arguments.first(PlaybackAccess.parameter)
        let now = Int(Date.now.timeIntervalSince1970)
        do throws(PlaybackAccess.Refusal) {
            try access.check(path: encoded, authKey: key, now: now)
        } catch .wrong {
            try access.check(path: plain, authKey: key, now: now)
        }
    }

    /// - Parameters:
    ///   - thing: Name of the signed item.
    ///   - tokens: Another remedy.
    private func words(of refusal: PlaybackAccess.Refusal, _ thing: String, tokens: String) -> String {
        let cure = "sign the URL with `mixorchestrator sign-url`"
        return switch refusal {
        case .missing: "the \(thing) has no \(PlaybackAccess.parameter): \(cure)\(tokens)"
        case .malformed: "\(PlaybackAccess.parameter) is not of the form unix-rand-uid-md5: \(cure)"
        case .wrong: "\(PlaybackAccess.parameter) was not made for this \(thing) with a known key: \(cure)"
        case .expired(let seconds): "the URL expired \(seconds) s ago: \(cure) again"
        }
    }
}
