import EventSubscription
import LayoutEngine
import Synchronization

/// The layouts in use, for all code that plans. Thread-safe; reads no files. `LayoutDirectory` keeps it up to date.
package final class Layouts: Sendable {
    private struct State {
        var catalogue = LayoutCatalogue()
        /// Paths of checked local copies, by the reference that templates use.
        var images: [String: String] = [:]
        var failures = LayoutImageFailures()
        /// Layouts with parameter values applied. Applying them takes milliseconds, and rooms plan often.
        var applied: [Applied: LayoutTemplate] = [:]
        /// Number of the catalogue's last change.
        var generation = 0
    }
    private struct Applied: Hashable {
        var name: String
        var values: [String: LayoutParameter.Value]
    }
    /// Maximum number of layouts with applied values that are kept.
    static let mostApplied = 256
    private let state = Mutex(State())
    /// Directory of the pictures of web pages; `nil` = pages are not shown.
    private let pages: String?

    /// - Parameter pages: Directory of the pictures of web pages, for layouts that show pages; `nil` = pages are not
    ///   shown.
    package init(pages: String? = nil) { self.pages = pages }

    /// Names of the layouts that a room can use, in alphabetical order.
    package var names: [String] { state.withLock { $0.catalogue.names } }

    package func contains(_ name: String) -> Bool { state.withLock { $0.catalogue.contains(name) } }

    package func suggestion(for name: String) -> String? { Suggestion.nearest(to: name, among: names) }

    /// Returns the newest good version of a layout, with its images where they are available. An unknown layout gives
    /// `auto`.
    package func template(_ name: String) -> LayoutTemplate {
        let (template, images) = state.withLock { ($0.catalogue.template(name), $0.images) }
        return template.resolved(images, pages: pages)
    }

    /// Returns the newest good version with other values of its parameters, and with its images where they are available.
    package func template(_ name: String, values: [String: LayoutParameter.Value]) -> LayoutTemplate {
        guard !values.isEmpty else { return template(name) }
        return applied(name, values).resolved(state.withLock { $0.images }, pages: pages)
    }

    /// Returns the newest good version with other values of its parameters, without resolved images.
    package func applied(_ name: String, _ values: [String: LayoutParameter.Value]) -> LayoutTemplate {
        let key = Applied(name: name, values: values)
        let (known, template, generation) = state.withLock {
            ($0.applied[key], $0.catalogue.template(name), $0.generation)
        }
        if let known { return known }
        let applied = template.applying(values)
        state.withLock { state in
            guard state.generation == generation else { return }
            if state.applied.count >= Self.mostApplied { state.applied = [:] }
            state.applied[key] = applied
        }
        return applied
    }

    /// Returns the names of the values that the layout's texts show.
    package func shownValues(_ name: String, _ values: [String: LayoutParameter.Value]) -> LayoutValues.Names {
        values.isEmpty
            ? state.withLock { $0.catalogue.template(name).shownValues } : applied(name, values).shownValues
    }

    /// Number of kept layouts with applied values.
    var appliedCount: Int { state.withLock { $0.applied.count } }

    /// Returns the newest good version as written, without resolved images.
    package func writtenTemplate(_ name: String) -> LayoutTemplate { state.withLock { $0.catalogue.template(name) } }

    package func entry(_ name: String) -> LayoutCatalogue.Entry? { state.withLock { $0.catalogue[name] } }

    /// A copy of the catalogue.
    package var catalogue: LayoutCatalogue { state.withLock { $0.catalogue } }

    package func update<Value: Sendable>(_ body: (inout LayoutCatalogue) -> Value) -> Value {
        state.withLock { state in
            state.generation += 1
            state.applied = [:]
            return body(&state.catalogue)
        }
    }

    /// Returns the paths of checked local copies, by URL. Images without a copy are left out.
    func paths(of images: Set<String>) -> [String: String] {
        images.isEmpty ? [:] : state.withLock { $0.images.filter { images.contains($0.key) } }
    }

    func setImages(_ images: [String: String]) { state.withLock { $0.images = images } }

    // MARK: Images that cannot be shown

    /// Keeps the failure of an image until it can be shown, or no layout names it.
    func imageFailed(_ image: String, _ message: String) { state.withLock { $0.failures.failed(image, message) } }

    func imageIsShown(_ image: String) { state.withLock { $0.failures.shown(image) } }

    /// Forgets failures of images that layouts no longer name.
    func keepFailures(only images: Set<String>) { state.withLock { $0.failures.keep(only: images) } }

    /// Number of the last failure; `nil` while no image is known to have failed.
    var lastImageFailure: Int? { state.withLock { $0.failures.isEmpty ? nil : $0.failures.last } }

    /// Returns the failures of a layout's images after the one with this number, oldest first.
    func imageFailures(of name: String, after number: Int) -> [LayoutImageFailures.Failure] {
        let (template, failures) = state.withLock { ($0.catalogue.template(name), $0.failures) }
        return failures.of(template.images, after: number)
    }
}

extension LayoutTemplate {
    fileprivate func resolved(_ paths: [String: String], pages: String?) -> LayoutTemplate {
        let template = images.isEmpty ? self : resolvingImages { paths[$0] }
        guard let pages, hasPages else { return template }
        return template.resolvingPages { OverlayPage.picture(of: $0, in: pages) }
    }
}
