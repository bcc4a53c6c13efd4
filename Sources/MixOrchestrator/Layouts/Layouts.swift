import EventSubscription
import LayoutEngine
import Synchronization

/// The layouts in use, for all code that plans. Thread-safe; reads no file. `LayoutDirectory` keeps it up to date.
final class Layouts: Sendable {
    private struct State {
        var catalogue = LayoutCatalogue()
        /// Paths of checked local copies, by the reference that templates use.
        var images: [String: String] = [:]
    }
    private let state = Mutex(State())

    /// Names of the layouts that a room can use, in alphabetical order.
    var names: [String] { state.withLock { $0.catalogue.names } }

    func contains(_ name: String) -> Bool { state.withLock { $0.catalogue.contains(name) } }

    func suggestion(for name: String) -> String? { Suggestion.nearest(to: name, among: names) }

    /// Returns the newest good version of a layout, with its images where they are available. An unknown layout gives
    /// `auto`.
    func template(_ name: String) -> LayoutTemplate {
        let (template, images) = state.withLock { ($0.catalogue.template(name), $0.images) }
        return template.resolved(images)
    }

    /// Returns the newest good version as it was written, without resolved images.
    func writtenTemplate(_ name: String) -> LayoutTemplate { state.withLock { $0.catalogue.template(name) } }

    func entry(_ name: String) -> LayoutCatalogue.Entry? { state.withLock { $0.catalogue[name] } }

    /// A copy of the catalogue.
    var catalogue: LayoutCatalogue { state.withLock { $0.catalogue } }

    func update<Value: Sendable>(_ body: (inout LayoutCatalogue) -> Value) -> Value {
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
