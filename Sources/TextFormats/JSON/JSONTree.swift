/// A form in which the parser returns a document.
protocol JSONTree {
    /// The members of an object that is being read.
    associatedtype Members

    static var noMembers: Members { get }

    /// Adds a member.
    ///
    /// - Parameters:
    ///   - position: The place of the key.
    ///   - isUnique: Whether the key must be new.
    /// - Returns: `false` if the key must be new and is not.
    static func add(
        _ value: consuming Self, for key: consuming String, at position: JSONPosition, to members: inout Members,
        isUnique: Bool
    ) -> Bool

    /// Creates a value.
    ///
    /// - Parameters:
    ///   - start: The place of its first byte.
    ///   - end: The offset after its last byte.
    init(_ content: JSONContent<Self>, from start: JSONPosition, to end: Int)
}

enum JSONContent<Tree: JSONTree> {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([Tree])
    case object(Tree.Members)
}
