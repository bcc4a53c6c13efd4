extension Splicer {
    /// Returns all of these actions, in order. Usually at most one list has any, and is not copied.
    static func join(_ first: [Action], _ second: [Action], _ third: [Action] = []) -> [Action] {
        if second.isEmpty, third.isEmpty { return first }
        return first.isEmpty && third.isEmpty ? second : first + second + third
    }
}
