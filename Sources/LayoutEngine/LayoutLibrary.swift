/// The layouts that rooms can name: the built-in `auto` and the ones that were added.
public struct LayoutLibrary: Hashable, Sendable {
    /// The name of the built-in layout, which every library has. A file of this name replaces it.
    public static let automaticName = LayoutTemplate.automaticName

    /// The built-in layout: `LayoutTemplate.automatic`.
    public static var automatic: LayoutTemplate { .automatic }

    private var templates: [String: LayoutTemplate]

    public init() {
        templates = [Self.automaticName: Self.automatic]
    }

    /// The names of all layouts in alphabetical order.
    public var names: [String] { templates.keys.sorted() }

    public subscript(name: String) -> LayoutTemplate? { templates[name] }

    /// Adds a template or replaces the one of the same name.
    public mutating func insert(_ template: LayoutTemplate) {
        templates[template.name] = template
    }

    /// Removes a template; `auto` reverts to the built-in one.
    public mutating func remove(_ name: String) {
        templates[name] = name == Self.automaticName ? Self.automatic : nil
    }

    /// Reads a layout and adds it. On an error the library keeps the layout that it had under this name.
    public mutating func load(_ bytes: some Sequence<UInt8>, name: String) throws(LayoutError) {
        insert(try LayoutTemplate.decode(bytes, name: name))
    }

    /// Returns the known name that was probably intended by `name`, for error messages.
    public func suggestion(for name: String) -> String? { Spelling.nearest(to: name, in: names) }
}
