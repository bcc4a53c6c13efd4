import EventSubscription
import LayoutEngine
import Synchronization

/// The layouts in use, for all code that plans. Thread-safe; reads no file. `LayoutDirectory` keeps it up to date.
package final class Layouts: Sendable {
    private struct State {
        var catalogue = LayoutCatalogue()
        /// Paths of checked local copies, by the reference that templates use.
        var images: [String: String] = [:]
    }
    private let state = Mutex(State())

    package init() {}

    /// Names of the layouts that a room can use, in alphabetical order.
    package var names: [String] { state.withLock { $0.catalogue.names } }

    package func contains(_ name: String) -> Bool { state.withLock { $0.catalogue.contains(name) } }

    package func suggestion(for name: String) -> String? { Suggestion.nearest(to: name, among: names) }

    /// Returns the newest good version of a layout, with its images where they are available. An unknown layout gives
    /// `auto`.
    package func template(_ name: String) -> LayoutTemplate {
        let (template, images) = state.withLock { ($0.catalogue.template(name), $0.images) }
        return template.resolved(images)
    }

    /// Returns the newest good version as it was written, without resolved images.
    package func writtenTemplate(_ name: String) -> LayoutTemplate { state.withLock { $0.catalogue.template(name) } }

    package func entry(_ name: String) -> LayoutCatalogue.Entry? { state.withLock { $0.catalogue[name] } }

    /// A copy of the catalogue.
    package var catalogue: LayoutCatalogue { state.withLock { $0.catalogue } }

    package func update<Value: Sendable>(_ body: (inout LayoutCatalogue) -> Value) -> Value {
        state.withLock { body(&$0.catalogue) }
    }

    /// Returns the paths of checked local copies, by URL. Images without a copy are left out.
    func paths(of images: Set<String>) -> [String: String] {
        images.isEmpty ? [:] : state.withLock { $0.images.filter { images.contains($0.key) } }
    }

    func setImages(_ images: [String: String]) { state.withLock { $0.images = images } }
}

extension LayoutTemplate {
    fileprivate func resolved(_ paths: [String: String]) -> LayoutTemplate {
        images.isEmpty ? self : resolvingImages { paths[$0] }
    }
}
