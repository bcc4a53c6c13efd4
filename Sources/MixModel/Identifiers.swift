import LayoutEngine

/// A name that is one kind of thing and cannot be mistaken for another.
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
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// An RTC channel.
public struct RoomID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// A long-lived job that owns one program.
public struct TaskID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The task that a room with outputs gets by itself.
    public static func automatic(for room: RoomID) -> TaskID { TaskID("auto-\(room)") }
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
        UserID(rawValue.lastIndex(of: "/").map { String(rawValue[..<$0]) } ?? rawValue)
    }
}

/// What a participant publishes: the same word in events, rooms and layouts.
public typealias StreamKind = LayoutParticipant.Kind
