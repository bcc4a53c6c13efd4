import EventSubscription
import LayoutEngine
import MixModel
import RoomService
import TextFormats

/// Reads values of layouts' parameters, and reports all errors at once.
package struct LayoutParamsReader: Sendable {
    let layouts: Layouts
    let defaultLayout: String
    /// Permitted sources of images.
    let images: AllowList
    let directory: LayoutDirectory

    package init(layouts: Layouts, defaultLayout: String, images: AllowList, directory: LayoutDirectory) {
        self.layouts = layouts
        self.defaultLayout = defaultLayout
        self.images = images
        self.directory = directory
    }

    /// Largest document of values, in bytes.
    static let mostBytes = 64 << 10

    /// Returns the patch in a body, with its images checked; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - body: JSON that has already been parsed.
    ///   - key: Key of the patch in the body; `nil` means that the body is the patch.
    ///   - layout: Layout that will probably be used; `nil` means the default. The values are checked against the
    ///     layout that is actually used.
    func patch(in body: [UInt8], key: String?, layout: String?) async -> Patch? {
        guard let document = try? JSONNode(parsing: body, limits: .requests),
            let node = key.map({ document[key: $0] }) ?? document
        else { return nil }
        let named = layouts.writtenTemplate(layout ?? defaultLayout).images(of: Self.values(node))
        var reasons = await directory.prepareImages(named)
        for image in named where image.contains("://") {
            do throws(InputError) {
                _ = try images.check(image, schemes: [.http, .https], field: "", setting: "sources.allow")
            } catch {
                reasons[image] = "refused, expected \(error.expected)"
            }
        }
        return Patch(
            node: node, path: key.map { "$.\($0)" } ?? "$", refusedImages: reasons, layouts: layouts,
            defaultLayout: defaultLayout)
    }

    private static func values(_ node: JSONNode) -> [String: LayoutParameter.Value] {
        guard case .object(let members) = node.value else { return [:] }
        return members.reduce(into: [:]) { values, member in
            if case .string(let text) = member.node.value { values[member.key] = .text(text) }
        }
    }

    /// A JSON merge patch of values.
    struct Patch: Sendable {
        let node: JSONNode
        let path: String
        let refusedImages: [String: String]
        let layouts: Layouts
        let defaultLayout: String

        /// Names in the patch, for timelines.
        var summary: String {
            guard case .object(let members) = node.value, !members.isEmpty else { return "nothing" }
            let shown = members.prefix(4).map(\.key).joined(separator: ", ")
            return members.count > 4 ? "\(shown) and \(members.count - 4) more" : shown
        }

        /// Returns the settings with the values in the patch.
        ///
        /// - Throws: `OrchestratorError` with all issues.
        func applied(to settings: RoomSettings) throws(OrchestratorError) -> RoomSettings {
            var changed = settings
            if case .null = node.value {
                changed.params = nil
                return changed
            }
            let template = layouts.writtenTemplate(settings.layout ?? defaultLayout)
            do {
                let merged = try template.merging(
                    node, at: path, into: settings.params ?? [:], refusedImages: refusedImages)
                changed.params = merged.isEmpty ? nil : merged
            } catch {
                throw OrchestratorError(
                    .invalid, "params-invalid", "The values of the layout's parameters have errors",
                    detail: error.issues.map(\.description).joined(separator: "\n"),
                    field: error.issues.first?.path, expected: error.issues.first?.expected, issues: error.issues)
            }
            return changed
        }
    }
}
