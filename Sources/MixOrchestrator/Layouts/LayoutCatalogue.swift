import LayoutEngine
import TaskStore

/// What is known of every layout, and what a change of a file means. Pure.
struct LayoutCatalogue: Sendable {
    struct Entry: Hashable, Sendable {
        /// What rooms use; `nil` when no version ever was good.
        var good: Good?
        /// Why the file cannot be used now.
        var problem: LayoutProblem?
        /// The file is gone. Rooms that use the layout keep it.
        var isDeleted = false
    }

    /// A version that can be used.
    struct Good: Hashable, Sendable {
        var template: LayoutTemplate
        var content: [UInt8]
        var version: LayoutVersion
    }

    /// What a look at a file changed.
    enum Outcome: Hashable, Sendable {
        case nothing
        /// Another content is in use.
        case changed(Good)
        /// The content that was in use all the time is in the file again.
        case restored(Good)
        /// The file cannot be used; what is in use stays so.
        case rejected(LayoutProblem, kept: Good?)
        /// The file is gone; what is in use stays so.
        case deleted(kept: Good?)
    }

    private var entries: [String: Entry] = [:]
    /// The last version of each layout that ever was, also of those that are gone.
    private var lastNumbers: [String: Int] = [:]

    /// In alphabetical order, without those that are gone for good.
    var all: [(name: String, entry: Entry)] { entries.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

    subscript(name: String) -> Entry? { entries[name] }

    /// The layouts that a room can take, in alphabetical order.
    var names: [String] { (entries.filter { $0.value.isUsable }.map(\.key) + [LayoutLibrary.automaticName]).sorted() }

    func contains(_ name: String) -> Bool {
        name == LayoutLibrary.automaticName || entries[name]?.isUsable ?? false
    }

    /// The newest good version; `auto` where there is none.
    func template(_ name: String) -> LayoutTemplate { entries[name]?.good?.template ?? LayoutLibrary.automatic }

    var templates: [LayoutTemplate] { entries.values.compactMap(\.good?.template) }

    var brokenCount: Int { entries.values.count { $0.problem != nil } }

    /// The number that a new version gets.
    func nextNumber(of name: String) -> Int { (lastNumbers[name] ?? 0) + 1 }

    /// A version from the store, before files are looked at. Counts as deleted until its file is seen.
    mutating func remember(_ good: Good) {
        entries[good.version.layout] = Entry(good: good, isDeleted: true)
        remember(good.version)
    }

    /// A version that exists although its content is not at hand.
    mutating func remember(_ version: LayoutVersion) {
        lastNumbers[version.layout] = max(version.number, lastNumbers[version.layout] ?? 0)
    }

    /// - Parameters:
    ///   - at: Seconds since 1970, of a new version.
    ///   - origin: Of a new version.
    mutating func take(
        _ reading: LayoutReading, of name: String, at: Double, origin: LayoutVersion.Origin
    ) -> Outcome {
        let before = entries[name]
        switch reading {
        case .gone:
            guard var entry = before, !entry.isDeleted else { return .nothing }
            entry.isDeleted = true
            entry.problem = nil
            entries[name] = entry
            return .deleted(kept: entry.good)
        case .bad(let problem):
            guard before?.problem != problem || before?.isDeleted == true else { return .nothing }
            entries[name] = Entry(good: before?.good, problem: problem)
            return .rejected(problem, kept: before?.good)
        case .good(let template, let content):
            if let good = before?.good, good.content == content {
                guard before?.problem != nil || before?.isDeleted == true else { return .nothing }
                entries[name] = Entry(good: good)
                return .restored(good)
            }
            let number = nextNumber(of: name)
            let version = LayoutVersion(
                layout: name, number: number, at: at, origin: origin, length: content.count)
            let good = Good(template: template, content: content, version: version)
            lastNumbers[name] = number
            entries[name] = Entry(good: good)
            return .changed(good)
        }
    }

    /// Lets go of layouts whose file is gone, except those that are used.
    mutating func forgetDeleted(except used: Set<String>) {
        entries = entries.filter { !$0.value.isDeleted || used.contains($0.key) }
    }
}

extension LayoutCatalogue.Entry {
    fileprivate var isUsable: Bool { good != nil && !isDeleted }
}
