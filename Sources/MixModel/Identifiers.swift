import LayoutEngine
import TextFormats

/// A name with its own type, so that names of different things cannot be confused.
///
/// Identifiers are equal if their UTF-8 is equal, and are ordered by its bytes, as in the store.
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
    // The standard library's operator for raw-representable types would compare raw values by canonical equivalence.
    public static func != (left: Self, right: Self) -> Bool { !left.rawValue.hasSameUTF8(as: right.rawValue) }
    public func hash(into hasher: inout Hasher) { rawValue.hashUTF8(into: &hasher) }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue.precedesInUTF8(right.rawValue) }
}

/// An identifier of a tenant. Rooms and tasks of different tenants may have the same name.
public struct AppID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The only tenant if none is configured.
    public static let standard: AppID = "default"
}

/// An identifier that is unique within a tenant.
///
/// It is the name alone for the standard tenant and `app/name` for others. Names contain no `/`.
public protocol TenantIdentifier: Identifier {}

extension TenantIdentifier {
    public init(app: AppID, name: String) {
        self.init(app == .standard ? name : "\(app)/\(name)")
    }

    @inlinable
    public var app: AppID {
        rawValue.splitAtFirst("/").map { AppID(String($0.head)) } ?? .standard
    }

    /// Name without the tenant.
    @inlinable
    public var name: String {
        rawValue.splitAtFirst("/").map { String($0.tail) } ?? rawValue
    }
}

/// An identifier of a room, which is an RTC channel.
public struct RoomID: TenantIdentifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// An identifier of a task: a long-lived job that owns one program.
public struct TaskID: TenantIdentifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Returns the identifier of the task that a room with outputs gets automatically.
    public static func automatic(for room: RoomID) -> TaskID { TaskID(app: room.app, name: "auto-\(room.name)") }
}

/// An identifier of a participant of a room.
public struct UserID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// An identifier of a destination of a program.
public struct OutputID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// An identifier of one stream of one participant, written `user/stream`.
public struct SourceID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }

    public init(user: UserID, stream: StreamKind) { self.rawValue = "\(user)/\(stream.rawValue)" }

    /// The participant: everything before the last `/`.
    public var user: UserID {
        UserID(rawValue.splitAtLast("/").map { String($0.head) } ?? rawValue)
    }
}

/// The kind of a published stream. Events, rooms and layouts use the same words.
public typealias StreamKind = LayoutParticipant.Kind
