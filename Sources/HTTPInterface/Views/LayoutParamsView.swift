import EventSubscription
import LayoutEngine
import MixModel
import RoomService

/// The parameters of a task's layout as the API shows them. URLs are redacted.
struct LayoutParamsView: Encodable {
    struct Param: Encodable {
        var name: String
        var type: String
        var title: String?
        var `default`: LayoutParameter.Value
        var min: Double?
        var max: Double?
        var maxLength: Int?
        /// Value in force.
        var value: LayoutParameter.Value
    }

    var layout: String
    /// The parameters in the order of the layout.
    var params: [Param]

    /// - Parameter values: Values that have been set. Those that the layout does not allow are not in force.
    init(_ template: LayoutTemplate, name: String, values: [String: LayoutParameter.Value]) {
        layout = name
        let inForce = template.applying(values).values
        params = template.parameters.map { Param($0, inForce[$0.name] ?? $0.standard) }
    }
}

extension LayoutParamsView.Param {
    fileprivate init(_ parameter: LayoutParameter, _ value: LayoutParameter.Value) {
        name = parameter.name
        type = parameter.kind.word
        title = parameter.title
        self.default = parameter.standard.shown(as: parameter.kind)
        self.value = value.shown(as: parameter.kind)
        switch parameter.kind {
        case .text(let most): maxLength = most
        case .number(let range): (min, max) = (range.lowerBound, range.upperBound)
        case .colour, .image, .visible: break
        }
    }
}

extension LayoutParameter.Value {
    fileprivate func shown(as kind: LayoutParameter.Kind) -> Self {
        kind == .image && description.contains("://") ? .text(StreamURL.redacted(description)) : self
    }
}

extension RoomServices {
    /// Returns the values that have been set and are in force, for people; `nil` if there are none.
    func shownParams(of room: Room) -> [String: LayoutParameter.Value]? {
        guard let values = room.settings.params else { return nil }
        let template = layouts.writtenTemplate(layoutName(of: room))
        let inForce = template.applying(values).values
        let shown = template.parameters.compactMap { parameter in
            inForce[parameter.name].map { (parameter.name, $0.shown(as: parameter.kind)) }
        }
        return shown.isEmpty ? nil : Dictionary(shown) { first, _ in first }
    }
}
