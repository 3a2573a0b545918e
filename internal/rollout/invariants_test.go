package rollout

import "testing"

func TestI1CanaryBound(t *testing.T)  { inSimulation(t, "I1") }
func TestI2Evidence(t *testing.T)     { inSimulation(t, "I2") }
func TestI3FailFast(t *testing.T)     { inSimulation(t, "I3") }
func TestI4NoDataNoPass(t *testing.T) { inSimulation(t, "I4") }
func TestI5Resume(t *testing.T)       { inSimulation(t, "I5") }
func TestI6Availability(t *testing.T) { inSimulation(t, "I6") }
func TestI7Scope(t *testing.T)        { inSimulation(t, "I7") }
func TestI8Reversible(t *testing.T)   { inSimulation(t, "I8") }
func TestI9Quiet(t *testing.T)        { inSimulation(t, "I9") }
