import EventSubscription
import MixModel
import Synchronization
import TextFormats

/// The task that pushes to each destination. Two tasks with the same destination would keep disconnecting each other.
package final class DestinationClaims: Sendable {
    /// A destination that another task holds.
    package struct Conflict: Hashable, Sendable {
        package var output: OutputID
        var holder: TaskID

        package init(output: OutputID, holder: TaskID) {
            self.output = output
            self.holder = holder
        }
    }

    fileprivate struct State {
        var holders: [String: TaskID] = [:]
        var destinations: [TaskID: Set<String>] = [:]
    }
    private let state = Mutex(State())

    /// Replaces the task's destinations with these, all or none.
    ///
    /// - Returns: The conflict; `nil` when the task now has the destinations.
    func claim(_ outputs: [PushDestination], for task: TaskID) -> Conflict? {
        let wanted = Self.destinations(outputs)
        return state.withLock { state in
            if let conflict = state.conflict(wanted, task) { return conflict }
            state.set(Set(wanted.map(\.destination)), of: task)
            return nil
        }
    }

    /// Replaces the task's destinations with those of these that no other task holds.
    ///
    /// - Returns: The first conflict; `nil` when the task now has all of the destinations.
    @discardableResult func hold(_ outputs: [PushDestination], for task: TaskID) -> Conflict? {
        let wanted = Self.destinations(outputs)
        return state.withLock { state in
            let conflict = state.conflict(wanted, task)
            let free = wanted.map(\.destination).filter { state.holders[$0] ?? task == task }
            state.set(Set(free), of: task)
            return conflict
        }
    }

    /// Returns the task that pushes to a destination in the form made by `destination(_:)`.
    func holder(of destination: String) -> TaskID? { state.withLock { $0.holders[destination] } }

    /// Returns the hosts of the destinations that have this port and path.
    ///
    /// - Parameter place: `:port/path`.
    func hosts(with place: String) -> [String] {
        state.withLock { state in
            state.holders.keys.filter { $0.utf8.reversed().starts(with: place.utf8.reversed()) }
                .map { String(Substring($0.utf8.dropLast(place.utf8.count))) }
        }
    }

    /// Returns the tasks that push to this path, at any host.
    ///
    /// - Parameter path: With its first slash.
    func tasks(sendingTo path: String) -> [TaskID] {
        let holders = state.withLock { $0.holders }
        let found = holders.filter { destination, _ in
            destination.splitAtFirst("/").map { "/\($0.tail)".hasSameUTF8(as: path) } ?? false
        }
        return Set(found.values).sorted()
    }

    fileprivate typealias Wanted = (output: OutputID, destination: String)

    private static func destinations(_ outputs: [PushDestination]) -> [Wanted] {
        outputs.map { ($0.id, destination($0.url)) }
    }

    /// Returns host, port and path, by which servers tell streams apart, the part of the query that does so, and for WHIP the
    /// token, which is the stream key of some. Text that is not a URL stands for itself. Secret.
    package static func destination(_ text: String) -> String {
        guard let url = try? StreamURL(text) else { return text }
        let port: Int =
            switch url.scheme {
            case .rtmps, .whips: 443
            case .whip: 80
            case .file: 0
            default: 1935
            }
        let token = url.userInformation.map { "#\($0)" } ?? ""
        return "\(url.host):\(url.port ?? port)\(url.path)\(nameInQuery(of: url))\(token)"
    }

    /// Returns the part of a URL's query that belongs to the stream's name; empty if there is none.
    private static func nameInQuery(of url: StreamURL) -> String {
        guard let query = url.query else { return "" }
        switch url.scheme {
        case .rtmp, .rtmps:
            if url.path.hasSuffix("/") { return "?\(query)" }
            // What follows the path's only part belongs to the application, and the stream comes after it: `/live2?backup=1/key`.
            guard !url.path.dropFirst().contains("/"), let slash = query.lastIndex(of: "/") else { return "" }
            return "?\(query[..<(query[slash...].firstIndex(of: "?") ?? query.endIndex)])"
        case .srt:
            // All callers of a server have one address. Of those who listen at one, there can be only one.
            let parameters = query.split(separator: "&")
            guard !parameters.contains(where: { $0.hasPrefix("mode=") && $0 != "mode=caller" }) else { return "" }
            return parameters.first { $0.hasPrefix("streamid=") }.map { "?\($0)" } ?? ""
        case .whip, .whips: return "?\(query)"
        default: return ""
        }
    }
}

extension DestinationClaims.State {
    fileprivate func conflict(_ wanted: [DestinationClaims.Wanted], _ task: TaskID) -> DestinationClaims.Conflict? {
        for (output, destination) in wanted {
            guard let holder = holders[destination], holder != task else { continue }
            return DestinationClaims.Conflict(output: output, holder: holder)
        }
        return nil
    }

    fileprivate mutating func set(_ wanted: Set<String>, of task: TaskID) {
        guard destinations[task] ?? [] != wanted else { return }
        for destination in (destinations[task] ?? []).subtracting(wanted) { holders[destination] = nil }
        for destination in wanted { holders[destination] = task }
        destinations[task] = wanted.isEmpty ? nil : wanted
    }
}
