import LayoutEngine
import TaskStore

/// The state of every layout, and the effect of file changes. Pure.
package struct LayoutCatalogue: Sendable {
    package struct Entry: Hashable, Sendable {
        /// Version in use by rooms; `nil` when no version was ever good.
        package var good: Good?
        /// The reason why the file cannot currently be used.
        package var problem: LayoutProblem?
        /// Whether the file was deleted. Rooms that use the layout keep it.
        package var isDeleted = false

        package init(good: Good? = nil, problem: LayoutProblem? = nil, isDeleted: Bool = false) {
            self.good = good
            self.problem = problem
            self.isDeleted = isDeleted
        }
    }

    /// A usable version.
    package struct Good: Hashable, Sendable {
        package var template: LayoutTemplate
        package var content: [UInt8]
        package var version: LayoutVersion
    }

    /// The effect of reading a file.
    package enum Outcome: Hashable, Sendable {
        case nothing
        /// New content is in use.
        case changed(Good)
        /// The file again holds the content in use.
        case restored(Good)
        /// The file cannot be used; the version in use stays.
        case rejected(LayoutProblem, kept: Good?)
        /// The file was deleted; the version in use stays.
        case deleted(kept: Good?)
    }

    private var entries: [String: Entry] = [:]
    /// Newest version number of each layout, including removed layouts.
    private var lastNumbers: [String: Int] = [:]

    /// All layouts in alphabetical order, except removed ones.
    package var all: [(name: String, entry: Entry)] { entries.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

    package subscript(name: String) -> Entry? { entries[name] }

    /// Names of the layouts that a room can use, in alphabetical order.
    package var names: [String] {
        (entries.filter { $0.value.isUsable }.map(\.key) + [LayoutLibrary.automaticName]).sorted()
    }

    package func contains(_ name: String) -> Bool {
        name == LayoutLibrary.automaticName || entries[name]?.isUsable ?? false
    }

    /// Returns the newest good version, or `auto` when there is none.
    package func template(_ name: String) -> LayoutTemplate { entries[name]?.good?.template ?? LayoutLibrary.automatic }

    var templates: [LayoutTemplate] { entries.values.compactMap(\.good?.template) }

    package var brokenCount: Int { entries.values.count { $0.problem != nil } }

    /// Returns the number of the next version.
    func nextNumber(of name: String) -> Int { (lastNumbers[name] ?? 0) + 1 }

    /// Adds a version from the store, before files are read. The layout counts as deleted until its file is found.
    mutating func remember(_ good: Good) {
        entries[good.version.layout] = Entry(good: good, isDeleted: true)
        remember(good.version)
    }

    /// Adds a version that exists but whose content is not available.
    mutating func remember(_ version: LayoutVersion) {
        lastNumbers[version.layout] = max(version.number, lastNumbers[version.layout] ?? 0)
    }

    /// Applies a reading of a layout's file.
    ///
    /// - Parameters:
    ///   - at: Time of a new version, in seconds since 1970.
    ///   - origin: Origin of a new version.
    package mutating func take(
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
            // A deletion that is a version of its own is undone by a further version.
            if let good = before?.good, good.content == content,
                before?.isDeleted != true || lastNumbers[name] == good.version.number
            {
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

    /// Puts a version that is in the store into use, whatever the file contains.
    ///
    /// - Returns: `nothing` if its content is in use already.
    mutating func adopt(_ good: Good) -> Outcome {
        let name = good.version.layout
        let before = entries[name]
        entries[name] = Entry(good: good)
        remember(good.version)
        return before?.good?.content == good.content && before?.isDeleted == false ? .nothing : .changed(good)
    }

    /// Removes layouts whose file was deleted, except those in use.
    mutating func forgetDeleted(except used: Set<String>) {
        entries = entries.filter { !$0.value.isDeleted || used.contains($0.key) }
    }
}

extension LayoutCatalogue.Entry {
    fileprivate var isUsable: Bool { good != nil && !isDeleted }
}
