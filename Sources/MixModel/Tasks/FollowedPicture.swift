import LayoutEngine

/// The properties of a stream's picture that a canvas adopts.
struct FollowedPicture {
    var size: LayoutParticipant.Size
    /// Pictures per second.
    var fps: Int

    /// Maximum length of the longer and of the shorter side, in pixels, of a canvas that follows. Larger pictures are
    /// scaled down.
    static let limits = (longer: 1920, shorter: 1080)
    /// Frame rates of a canvas that follows. A slow screen share must not slow down the cameras beside it.
    static let rates = 15...60

    /// Returns the canvas for a mix with this picture, in the picture's shape.
    ///
    /// Sides are even, as `Canvas` requires, and rounded down, so that the last pixel requires no scaling.
    func canvas(background: RGB) -> Canvas {
        let (longer, shorter) = (max(size.width, size.height, 1), max(min(size.width, size.height), 1))
        // The larger of the two reductions, as a fraction.
        let (over, under) =
            longer * Self.limits.shorter >= shorter * Self.limits.longer
            ? (Self.limits.longer, longer) : (Self.limits.shorter, shorter)
        func side(_ pixels: Int) -> Int {
            let scaled = over < under ? pixels * over / under : pixels
            return max(scaled / 2 * 2, 16)
        }
        return Canvas(
            width: side(size.width), height: side(size.height),
            fps: min(max(fps, Self.rates.lowerBound), Self.rates.upperBound), background: background)
    }
}

extension PlanningContext {
    /// Returns the canvas of the room's program, before the layout's settings apply.
    ///
    /// - Parameter host: Stream whose picture the canvas follows; `nil` if it follows none.
    func canvas(of room: Room, following host: SourceID?) -> Canvas {
        let chosen = room.settings.canvas ?? defaultCanvas
        guard chosen.followsHost else { return chosen.canvas }
        if let picture = host.flatMap({ picture(of: $0) }) {
            return picture.canvas(background: chosen.canvas.background)
        }
        var canvas = canvasSoFar ?? chosen.canvas
        canvas.background = chosen.canvas.background
        return canvas
    }

    /// Returns the changes that a mix makes to its host's picture, in words for the timeline; `nil` if there are none,
    /// or they are not known.
    func change(of program: ProgramPlanner.Program) -> String? {
        guard case .mix(let host) = program.mode, !program.scene.panes.isEmpty, let picture = picture(of: host) else {
            return nil
        }
        let canvas = program.scene.canvas
        guard canvas.width != picture.size.width || canvas.height != picture.size.height || canvas.fps != picture.fps
        else { return nil }
        return "the picture becomes \(canvas.width)×\(canvas.height) at \(canvas.fps) frames per second, "
            + "\(host) has \(picture.size.width)×\(picture.size.height) at \(picture.fps)"
    }

    private func picture(of source: SourceID) -> FollowedPicture? {
        guard let size = pictureSizes[source], let fps = frameRates[source] else { return nil }
        return FollowedPicture(size: size, fps: fps)
    }
}
