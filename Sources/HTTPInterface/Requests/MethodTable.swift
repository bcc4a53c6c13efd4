import HTTPTypes
import Hummingbird
import Synchronization

/// The methods of each path, which a refusal of another method lists (RFC 9110 §15.5.6). Thread-safe.
package final class MethodTable: Sendable {
    private struct Route {
        var parts: [String]
        var methods: Set<String>
    }
    private let routes = Mutex<[Route]>([])

    package init() {}

    /// Fills the table. Call this once all routes are added. `HEAD` is added to every `GET`.
    package func fill(from router: Router<some RequestContext>) {
        var methods: [String: Set<String>] = [:]
        for route in router.routes {
            methods["\(route.path)", default: ["OPTIONS"]].insert(route.method.rawValue)
            if route.method == .get { methods["\(route.path)"]?.insert("HEAD") }
        }
        let filled = methods.map { Route(parts: Self.parts($0.key), methods: $0.value) }
        routes.withLock { $0 = filled }
    }

    /// Returns the methods in the format of `Allow`, or `nil` if the path does not exist.
    func allowed(_ path: String) -> String? {
        let parts = Self.parts(path)
        let methods = routes.withLock { routes in
            routes.filter { Self.matches($0.parts, parts) }.reduce(into: Set<String>()) { $0.formUnion($1.methods) }
        }
        return methods.isEmpty ? nil : methods.sorted().joined(separator: ", ")
    }

    private static func parts(_ path: String) -> [String] { path.split(separator: "/").map(String.init) }

    private static func matches(_ pattern: [String], _ parts: [String]) -> Bool {
        pattern.count == parts.count
            && zip(pattern, parts).allSatisfy { pattern, part in
                guard pattern.first == "{", let end = pattern.lastIndex(of: "}") else { return pattern == part }
                let suffix = pattern[pattern.index(after: end)...]
                return part.hasSuffix(suffix) && part.count > suffix.count
            }
    }
}
