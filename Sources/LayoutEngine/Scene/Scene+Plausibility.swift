extension Scene {
    /// Whether every number is in the range of a scene, so that calculations with it are safe. The scene may come from
    /// another process, which may have written anything.
    public var isPlausible: Bool {
        canvas.isPlausible && background?.isPlausible ?? true && panes.allSatisfy(\.isPlausible)
            && overlays.allSatisfy(\.isPlausible)
            && sound.isPlausible && transition.isPlausible
    }
}

extension SceneDifference {
    /// Whether every number is in the range of a scene, as in `Scene.isPlausible`.
    public var isPlausible: Bool {
        canvas?.isPlausible ?? true && isBackgroundPlausible && (added + changed).allSatisfy(\.isPlausible)
            && overlays?.allSatisfy(\.isPlausible) ?? true && sound?.isPlausible ?? true && transition.isPlausible
    }

    private var isBackgroundPlausible: Bool {
        if case .image(let backdrop)? = background { backdrop.isPlausible } else { true }
    }
}

extension Scene.Backdrop {
    fileprivate var isPlausible: Bool { 0...7680 ~= blur ?? 0 && 0...360 ~= gradient?.angle ?? 0 }
}

extension Canvas {
    public var isPlausible: Bool { 1...7680 ~= width && 1...7680 ~= height && 1...240 ~= fps }
}

extension Pane {
    fileprivate var isPlausible: Bool {
        [x, y, width, height, border?.width ?? 0, speaking?.width ?? 0, label?.size ?? 0].allSatisfy(pixels.contains)
            && 0...7680 ~= radius ?? 0 && 0...Shadow.mostBlur ~= shadow?.blur ?? 0
            && 0...Shadow.mostBlur ~= shadow?.offset ?? 0
            && 0...Surround.mostBlur ~= surround?.blur ?? 0
            && 0...3_600_000 ~= cardAfter ?? 0 && 0...3_600_000 ~= dropAfter ?? 0
    }
}

extension Overlay {
    fileprivate var isPlausible: Bool {
        let isContentPlausible =
            switch content {
            case .image, .page: true
            case .text(_, let style): style.isPlausible
            case .clock(_, let offset, let style): style.isPlausible && -840...840 ~= offset
            }
        return [x, y, width, height].allSatisfy(pixels.contains) && Self.levels.contains(level) && isContentPlausible
    }
}

extension TextStyle {
    fileprivate var isPlausible: Bool {
        pixels ~= size && 0...7680 ~= radius ?? 0 && -840...840 ~= utcOffset ?? 0 && times ~= until ?? 0
    }
}

extension SceneSound {
    fileprivate var isPlausible: Bool { levels.allSatisfy { 0...400 ~= $0.gain } }
}

extension Transition {
    fileprivate var isPlausible: Bool { 0...60_000 ~= duration }
}

/// Coordinates and lengths on or beside a canvas, in pixels.
private let pixels = -65_536...65_536
/// The years 0000 to 9999, in seconds since 1970.
private let times = -62_167_219_200...253_402_300_799
