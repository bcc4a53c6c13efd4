import LayoutEngine

/// A name that is one kind of thing and cannot be mistaken for another.
///
/// Two are the same when their UTF-8 is, and its bytes order them, as in the store.
public protocol Identifier: RawRepresentable, Hashable, Codable, Sendable, Comparable,
    CustomStringConvertible, ExpressibleByStringLiteral
where RawValue == String {
    init(_ rawValue: String)
}

extension Identifier {
    public init(rawValue: String) { self.init(rawValue) }
    public init(stringLiteral value: String) { self.init(value) }
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
    public var description: String { rawValue }

    public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasSameUTF8(as: right.rawValue) }
    // The standard library's own for raw values would compare those.
    public static func != (left: Self, right: Self) -> Bool { !left.rawValue.hasSameUTF8(as: right.rawValue) }
    public func hash(into hasher: inout Hasher) { rawValue.hashUTF8(into: &hasher) }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue.precedesInUTF8(right.rawValue) }
}

/// A tenant: rooms and tasks of two of them may have the same names.
public struct AppID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The only one where none are configured.
    public static let standard: AppID = "default"
}

/// A name that is unique within a tenant: of the standard one the name alone, of others `app/name`. Names hold no `/`.
public protocol TenantIdentifier: Identifier {}

extension TenantIdentifier {
    public init(app: AppID, name: String) {
        self.init(app == .standard ? name : "\(app)/\(name)")
    }

    public var app: AppID {
        rawValue.splitAtFirst("/").map { AppID(String($0.head)) } ?? .standard
    }

    /// As the tenant knows it.
    public var name: String {
        rawValue.splitAtFirst("/").map { String($0.tail) } ?? rawValue
    }
}

/// An RTC channel.
public struct RoomID: TenantIdentifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// A long-lived job that owns one program.
public struct TaskID: TenantIdentifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The task that a room with outputs gets by itself.
    public static func automatic(for room: RoomID) -> TaskID { TaskID(app: room.app, name: "auto-\(room.name)") }
}

/// A participant of a room.
public struct UserID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// A destination of a program.
public struct OutputID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// One stream of one participant, written `user/stream`.
public struct SourceID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }

    public init(user: UserID, stream: StreamKind) { self.rawValue = "\(user)/\(stream.rawValue)" }

    /// The participant: everything before the last `/`.
    public var user: UserID {
        UserID(rawValue.splitAtLast("/").map { String($0.head) } ?? rawValue)
    }
}

/// What a participant publishes: the same word in events, rooms and layouts.
public typealias StreamKind = LayoutParticipant.Kind
