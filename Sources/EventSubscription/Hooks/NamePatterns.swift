import MixModel
import TextFormats

/// The meaning of a stream's name at a media server.
package struct StreamNames: Hashable, Sendable {
    package var room: RoomID
    package var user: UserID
    package var stream: StreamKind

    package init(room: RoomID, user: UserID, stream: StreamKind) {
        self.room = room
        self.user = user
        self.stream = stream
    }
}

/// The rules that map a hook's streams to rooms, participants and kinds.
package struct NamePatterns: Hashable, Sendable {
    /// Patterns in the order in which they are tried. The first one that matches with valid identifiers decides.
    package let patterns: [NamePattern]
    /// Whether publishers may specify room, user and stream in the arguments of their URL: `?room=lobby&user=alice`.
    /// Arguments take precedence over a pattern.
    package let allowsArguments: Bool
    /// The tenant of all rooms; `nil` if names select one of `tenants`.
    package let fixedTenant: AppID?
    private let tenants: AppRule

    package static let standardPattern = "{room}__{user}"
    static let mostPatterns = 16

    /// The reason why a name belongs to no room. Contains no part of the name.
    package struct Unmatched: Error, Hashable, Sendable {
        package var text: String

        package init(text: String) { self.text = text }
    }

    /// - Parameters:
    ///   - patterns: Empty = `{room}__{user}`.
    ///   - tenant: The tenant of all rooms; `nil` = `{app}` selects one of `tenants`, or the standard one.
    /// - Throws: `InputError` for a pattern that cannot be parsed or can never name a room and a user.
    package init(
        _ patterns: [String], allowsArguments: Bool = false, tenant: AppID? = nil, tenants: Set<AppID> = []
    ) throws(InputError) {
        guard patterns.count <= Self.mostPatterns else {
            throw InputError(
                .invalidField, field: "patterns", found: "\(patterns.count) patterns",
                expected: "at most \(Self.mostPatterns)")
        }
        var read: [NamePattern] = []
        for (index, text) in (patterns.isEmpty ? [Self.standardPattern] : patterns).enumerated() {
            do {
                read.append(try NamePattern(text))
            } catch {
                var error = error
                error.field = "patterns[\(index)]"
                throw error
            }
            let fields = read[index].fields
            if let missing = [.room, .user].first(where: { !fields.contains($0) }), !allowsArguments {
                throw InputError(
                    .invalidField, field: "patterns[\(index)]", found: "\"\(text)\"",
                    expected: "{\(missing.rawValue)} in the pattern, or arguments: true, so that publishers name it")
            }
            if tenant != nil, fields.contains(.app) {
                throw InputError(
                    .invalidField, field: "patterns[\(index)]", found: "{app} beside the setting app",
                    expected: "either of them: {app} lets the name choose the app")
            }
        }
        self.patterns = read
        self.allowsArguments = allowsArguments
        self.tenants = .any(tenants)
        fixedTenant = tenant
    }

    /// Returns the meaning of the stream's name.
    package func names(of stream: MediaServerStream) -> Result<StreamNames, Unmatched> {
        guard let name = stream.name else { return .failure(Unmatched(text: "the name is not UTF-8")) }
        let given = allowsArguments ? stream.arguments : HookForm([UInt8]())
        var reason = Unmatched(
            text: patterns.count == 1
                ? "the name does not fit \(patterns[0].text)" : "the name fits none of \(patterns.count) patterns")
        var isFirst = true
        for pattern in patterns {
            guard let captures = pattern.match([name, stream.app, stream.vhost]) else { continue }
            switch names(captures, given) {
            case .success(let names): return .success(names)
            case .failure(let fault):
                if isFirst { reason = fault }
                isFirst = false
            }
        }
        if given.has("room"), given.has("user") { return names([:], given) }
        return .failure(reason)
    }

    private func names(
        _ captures: [NamePattern.Field: String], _ given: HookForm
    ) -> Result<StreamNames, Unmatched> {
        func text(_ field: NamePattern.Field) -> String? {
            given.has(field.rawValue) && field != .app ? given.first(field.rawValue) ?? "" : captures[field]
        }
        do throws(InputError) {
            guard let room = text(.room), let user = text(.user) else {
                return .failure(Unmatched(text: "neither the name nor its arguments name both a room and a user"))
            }
            let tenant: AppID
            if let fixedTenant { tenant = fixedTenant } else { tenant = try tenants.app(captures[.app], field: "app") }
            let kind: StreamKind
            if let word = text(.stream) {
                guard let known = StreamKind.allCases.first(where: { $0.rawValue.hasSameUTF8(as: word) }) else {
                    let words = StreamKind.allCases.map(\.rawValue).joined(separator: ", ")
                    return .failure(Unmatched(text: "the stream is none of \(words)"))
                }
                kind = known
            } else {
                kind = .camera
            }
            return .success(
                StreamNames(
                    room: RoomID(app: tenant, name: try EventParser.identifier(room, field: "room")),
                    user: UserID(try EventParser.identifier(user, field: "user")), stream: kind))
        } catch {
            // The rejected text is part of the name.
            let expected =
                error.field == "app" ? "one of the configured apps" : error.expected
            return .failure(Unmatched(text: "the \(error.field) is not valid: expected \(expected)"))
        }
    }
}
