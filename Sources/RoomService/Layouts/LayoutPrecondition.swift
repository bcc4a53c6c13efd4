/// A request's condition on the layout that it changes.
package enum LayoutPrecondition: Hashable, Sendable {
    case none
    /// The layout must exist, at one of these versions if any are named.
    case isAt(Set<Int>)
    /// The layout must not exist yet.
    case isNew

    package func check(_ name: String, _ entry: LayoutCatalogue.Entry?) throws(OrchestratorError) {
        let isThere = entry != nil && entry?.isDeleted == false
        let version = entry?.good?.version.number ?? 0
        switch self {
        case .none:
            return
        case .isNew:
            guard isThere else { return }
        case .isAt(let versions):
            guard !isThere || !(versions.isEmpty || versions.contains(version)) else { return }
        }
        throw OrchestratorError(
            .outdated, "layout-changed", "The layout is not in the expected state",
            detail: isThere
                ? "\(name) is at version \(version): read it again and repeat the change" : "\(name) does not exist")
    }
}
