/// The images of layouts that currently cannot be shown, for the timelines of the tasks that use them, including tasks
/// that start later. Pure.
struct LayoutImageFailures: Sendable {
    struct Failure: Hashable, Sendable {
        /// Sequence number of the failure, so that no task is told of one twice.
        var number: Int
        /// The image and the reason, for operators.
        var message: String
    }

    /// The last failure of each image, by its reference in templates.
    private var failures: [String: Failure] = [:]
    /// Number of the last failure; 0 before the first one.
    private(set) var last = 0

    var isEmpty: Bool { failures.isEmpty }

    mutating func failed(_ image: String, _ message: String) {
        last += 1
        failures[image] = Failure(number: last, message: message)
    }

    /// Forgets the failure of an image that can be shown.
    mutating func shown(_ image: String) { failures[image] = nil }

    /// Forgets images that no layout names any more.
    mutating func keep(only images: Set<String>) {
        guard !failures.isEmpty else { return }
        failures = failures.filter { images.contains($0.key) }
    }

    /// Returns the failures of these images after the one with this number, oldest first.
    func of(_ images: Set<String>, after number: Int) -> [Failure] {
        failures.filter { $0.value.number > number && images.contains($0.key) }.map(\.value)
            .sorted { $0.number < $1.number }
    }
}
